// Which step of the activation a call of `cs` belongs to: `current(what)` gives the step's position, or
// undefined outside of steps. Set by steps.js, reset with each activation by context.js.
'use strict';
(function () {
  return { current: null };
})

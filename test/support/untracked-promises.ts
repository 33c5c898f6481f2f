// Keeps Node's test runner from tracking promises, which takes a fifth of the processor time of most files. The runner
// has an async hook that is called for every promise, so that it can tell which test caused an uncaught error. Timers
// and sockets are still tracked. A file with an unhandled rejection still fails, but the runner cannot name the test.
// This file must be loaded before node:test.

import asyncHooks from "node:async_hooks";

const { createHook } = asyncHooks;
asyncHooks.createHook = (callbacks) => createHook({ ...callbacks, trackPromises: false });

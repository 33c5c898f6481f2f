// `node --import ./test/support/follow-tests.ts --test …`: how node:test knows which test is running. By itself it keeps
// a note of every promise that a test makes, and has V8 call it when each is gone: a fifth of what our tests take of a
// processor. Here it asks an AsyncLocalStorage, which Node carries along anyway. What it knows is the same.

import hooks, { AsyncLocalStorage } from "node:async_hooks";

/** Whose runner works as is said above; follow-tests.test.ts shows it. */
const KNOWN = "26.";
const { createHook, executionAsyncId } = hooks;
const running = new AsyncLocalStorage<number>();

/** The runner sets its hook up once; what it is told of is a test, a suite or one of their own hooks. */
const createLighterHook: typeof createHook = ({ init, ...callbacks }) =>
	createHook({
		...callbacks,
		trackPromises: false,
		init(asyncId, type, triggerAsyncId, resource) {
			if (type === "Test") enterWhenRun(resource, asyncId);
			init?.(asyncId, type, triggerAsyncId, resource);
		},
	});

function enterWhenRun(resource: object, asyncId: number): void {
	if (!(resource instanceof hooks.AsyncResource)) return;
	const { runInAsyncScope } = resource;
	const enter = (run: (...args: unknown[]) => unknown, thisArg: unknown, ...args: unknown[]) =>
		// Inside, because entering the scope brings back the storage of when the test was made.
		runInAsyncScope.call(resource, () => running.run(asyncId, () => Reflect.apply(run, thisArg, args)));
	Object.assign(resource, { runInAsyncScope: enter });
}

// It takes both when it is loaded, which is now; nobody else gets them. Another Node may do it in another way: there it
// is left alone, and the run takes longer.
if (process.versions.node.startsWith(KNOWN)) {
	Object.assign(hooks, {
		createHook: createLighterHook,
		executionAsyncId: () => running.getStore() ?? executionAsyncId(),
	});
	await import("node:test");
	Object.assign(hooks, { createHook, executionAsyncId });
}

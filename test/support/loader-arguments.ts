// Returns loader arguments for our own programs that do not inherit the environment of the test run.

/** Environment variable in which test/global-setup.ts names the module that each process of the run imports first. */
export const LOADER_VARIABLE = "RINGBACK_TEST_LOADER";

/** Returns the arguments for Node. The list is empty if a test file runs alone. */
export function loaderArguments(): string[] {
	const loader = process.env[LOADER_VARIABLE];
	return loader === undefined ? [] : [`--import=${loader}`];
}

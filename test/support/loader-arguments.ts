// For processes of our own programs that do not inherit the environment of the test run.

/** Where test/global-setup.ts puts what each process of the run imports first. */
export const LOADER_VARIABLE = "RINGBACK_TEST_LOADER";

/** Of Node; none, where a test file is run alone. */
export function loaderArguments(): string[] {
	const loader = process.env[LOADER_VARIABLE];
	return loader === undefined ? [] : [`--import=${loader}`];
}

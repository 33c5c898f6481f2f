// One time limit for the whole time between a request and its answer.

export const late = Symbol("late");

export type Deadline = {
	/**
	 * Resolves to the promise's value, or to `late` if the time limit passes first. The promise itself is not
	 * cancelled.
	 */
	race<Value>(promise: Promise<Value>): Promise<Value | typeof late>;
	end(): void;
};

export function startDeadline(afterMs: number): Deadline {
	let pass = (): void => undefined;
	const passed = new Promise<typeof late>((resolve) => {
		pass = () => resolve(late);
	});
	const timer = setTimeout(pass, afterMs);
	return {
		race: (promise) => Promise.race([promise, passed]),
		end: () => clearTimeout(timer),
	};
}

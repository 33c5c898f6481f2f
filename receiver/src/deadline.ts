// One limit of time for everything that stands between a request and its answer.

export const late = Symbol("late");

export type Deadline = {
	/** What the promise gives, or `late`. The promise goes on all the same. */
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

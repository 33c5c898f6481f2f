// A kept connection may already hold what the shop sent since the last answer: its close, or a second answer
// that would be taken for the next request's. Only a turn of the event loop's poll phase shows it.
//
// undici looks before it writes, one setImmediate later. But most attempts begin inside that very poll phase,
// with the answer to another, and then its look comes in the same turn, before anything new was read (shown by
// a test, undici 8.12.4). Begun inside a setImmediate, the look comes after a full turn. One serves all who wait.

export function createTurn<Waiting>(run: (waiting: Waiting) => void): (waiting: Waiting) => void {
	let queue: Waiting[] = [];

	function runAll(): void {
		const present = queue;
		queue = [];
		for (const waiting of present) run(waiting);
	}

	return (waiting) => {
		if (queue.length === 0) setImmediate(runAll);
		queue.push(waiting);
	};
}

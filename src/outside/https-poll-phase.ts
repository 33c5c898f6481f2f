// Runs something after the event loop's next poll phase, the one in which Node reads from sockets.
//
// A kept connection may already hold what the shop sent since the last answer: its close, or a second answer
// that would be taken for the next request's. Only a poll phase shows it. undici looks before it writes, one
// setImmediate later. But most attempts begin inside a poll phase, with the answer to another; undici's look then
// comes before the next one, so that nothing new was read (shown by a test, undici 8.12.4). Begun inside a
// setImmediate, the look comes after a whole poll phase. One setImmediate serves all who wait.

export function createAfterPollPhase<Waiting>(run: (waiting: Waiting) => void): (waiting: Waiting) => void {
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

// A process of our own on the other side of a pipe: it opens what it has to, says so, and answers orders until
// its parent is done with it or gone. Both sides are here; the process's file exports the types of what they say.

import { fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";

export interface ForkedProcess<Opened, Order, Answer> {
	readonly opened: Opened;
	/** Several may be under way; each rejects when the process ends before its answer. */
	ask(order: Order): Promise<Answer>;
	/** Resolves when the process is gone, also when it was before. */
	close(): Promise<void>;
}

const FIRST_ID = 0;

interface Message<Content> {
	id: number;
	content: Content;
}

/** Rejects, with nothing left behind, when the process ends before it has opened. */
export async function forkProcess<Opened, Order, Answer>(
	script: URL,
	args: readonly string[] = [],
): Promise<ForkedProcess<Opened, Order, Answer>> {
	// "advanced": long reports are megabytes of text, and JSON would take its time over them; it knows Maps too.
	const child = fork(script, args, { serialization: "advanced", execArgv: [] });
	const waiting = new Map<number, PromiseWithResolvers<Opened | Answer>>();
	let end: Error | undefined;
	let lastId = FIRST_ID;

	const expect = (id: number): Promise<Opened | Answer> => {
		const answer = Promise.withResolvers<Opened | Answer>();
		if (end === undefined) waiting.set(id, answer);
		else answer.reject(end);
		return answer.promise;
	};
	const giveUp = (error: Error) => {
		end ??= error;
		for (const { reject } of waiting.values()) reject(end);
		waiting.clear();
	};
	const close = async () => {
		if (child.exitCode !== null || child.signalCode !== null) return;
		const gone = once(child, "exit");
		child.kill("SIGKILL");
		await gone;
	};
	child.on("error", giveUp);
	child.once("exit", (code, signal) =>
		giveUp(new Error(`${basename(script.pathname)} ended with ${code ?? signal}`)),
	);
	child.on("message", (received) => {
		const { id, content } = received as Message<Opened | Answer>;
		waiting.get(id)?.resolve(content);
		waiting.delete(id);
	});

	try {
		return {
			opened: (await expect(FIRST_ID)) as Opened,
			async ask(order) {
				lastId += 1;
				const answer = expect(lastId);
				// Without the callback a pipe that is closed would be an event of the process.
				if (end === undefined) child.send({ id: lastId, content: order }, (error) => error && giveUp(error));
				return (await answer) as Answer;
			},
			close,
		};
	} catch (error) {
		await close();
		throw error;
	}
}

/** The other side. Ends with its parent, and with an order that it cannot carry out. */
export function serveParent<Opened, Order, Answer>(
	opened: Opened,
	obey: (order: Order) => Answer | Promise<Answer>,
): void {
	process.once("disconnect", () => process.exit());
	// The parent may have gone while this side was still opening.
	if (!process.connected) process.exit();
	process.on("message", async (received) => {
		const { id, content } = received as Message<Order>;
		process.send?.({ id, content: await obey(content) });
	});
	process.send?.({ id: FIRST_ID, content: opened });
}

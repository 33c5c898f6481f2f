// Runs a child process that the parent controls over a pipe. The child opens its resources, reports that it is ready,
// and carries out the parent's commands (`Order`) until the parent ends it or disappears. This file contains both
// sides. The child's own file exports the types of its messages.

import { fork } from "node:child_process";
import { once } from "node:events";
import { basename } from "node:path";

export interface ForkedProcess<Opened, Order, Answer> {
	readonly opened: Opened;
	/**
	 * Sends a command and resolves to the reply. Several commands may be in flight. Each promise rejects if the
	 * process ends before it replies.
	 */
	ask(order: Order): Promise<Answer>;
	/** Ends the process, and resolves when it has ended. May be called again after that. */
	close(): Promise<void>;
}

const FIRST_ID = 0;

interface Message<Content> {
	id: number;
	content: Content;
}

/**
 * Starts the process. If the process ends before it is ready, the promise rejects and nothing is left behind.
 */
export async function forkProcess<Opened, Order, Answer>(
	script: URL,
	args: readonly string[] = [],
): Promise<ForkedProcess<Opened, Order, Answer>> {
	// "advanced" serialization handles megabytes of text faster than JSON, and it supports Maps.
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
				// The callback receives the error of a closed pipe. Without it, the error would be emitted as an
				// event on the process.
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

/** Runs the child's side. The process ends with its parent, or when a command fails. */
export function serveParent<Opened, Order, Answer>(
	opened: Opened,
	obey: (order: Order) => Answer | Promise<Answer>,
): void {
	process.once("disconnect", () => process.exit());
	// The parent may have ended while this process was still opening its resources.
	if (!process.connected) process.exit();
	process.on("message", async (received) => {
		const { id, content } = received as Message<Order>;
		process.send?.({ id, content: await obey(content) });
	});
	process.send?.({ id: FIRST_ID, content: opened });
}

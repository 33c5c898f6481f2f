// Sends requests over reused connections, one at a time on each, as fast as they are answered or at a fixed
// rate. At a fixed rate, the wait of a request counts from its due time, so a server that stalls is charged
// for all requests that were due during the stall. Prints a LoadAnswer.

import { connect, type Socket } from "node:net";
import { percentile } from "./figures.ts";
import { findHttpFrame } from "./http-frames.ts";
import type { LoadAnswer } from "./load-process.ts";

const STATUS_START = "HTTP/1.1 ".length;
const STATUS_END = STATUS_START + 3;

export interface Load {
	url: string;
	requests: number;
	connections: number;
	/** Number of requests a second, or 0 to send as fast as possible. */
	perSecond: number;
	/** Returns the bytes of the n-th request. */
	requestAt(number: number): Buffer;
	/** Returns the name under which the answer to the n-th request is counted. Its status by default. */
	nameAnswer?(number: number, status: string, readBody: () => string): string;
}

export async function generateLoad(load: Load): Promise<void> {
	const { requests, connections, perSecond: pace, requestAt, nameAnswer = (_, status) => status } = load;
	const { hostname, port } = new URL(load.url);
	const statuses: Record<string, number> = {};
	const waitsMs: number[] = [];
	const idle: (() => void)[] = [];
	let asked = 0;
	let answered = 0;
	const sockets = await Promise.all(Array.from({ length: connections }, open));
	const startedAt = performance.now();
	for (const socket of sockets) keepAsking(socket);
	if (pace > 0) {
		const timer = setInterval(() => {
			wakeThoseDue();
			if (asked >= requests) clearInterval(timer);
		}, 1);
	}

	function open(): Promise<Socket> {
		return new Promise((resolve, reject) => {
			const socket = connect(Number(port), hostname, () => resolve(socket));
			socket.setNoDelay(true);
			socket.once("error", reject);
		});
	}

	/** Returns the time at which the n-th request is due, counted from the start. */
	function dueMs(number: number): number {
		return (number / pace) * 1_000;
	}

	function wakeThoseDue(): void {
		while (idle.length > 0 && asked < requests && dueMs(asked) <= performance.now() - startedAt)
			idle.pop()?.();
	}

	function keepAsking(socket: Socket): void {
		let rest: Buffer = Buffer.alloc(0);
		let sinceMs = 0;
		let number = 0;
		const ask = (): void => {
			if (asked >= requests) return;
			sinceMs = pace > 0 ? startedAt + dueMs(asked) : performance.now();
			number = asked++;
			socket.write(requestAt(number));
		};
		socket.on("data", (chunk: Buffer) => {
			rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
			for (let frame = findHttpFrame(rest); frame !== undefined; frame = findHttpFrame(rest)) {
				const status = rest.toString("latin1", STATUS_START, STATUS_END);
				waitsMs.push(performance.now() - sinceMs);
				const { bodyStart, end } = frame;
				const name = nameAnswer(number, status, () => rest.toString("utf8", bodyStart, end));
				statuses[name] = (statuses[name] ?? 0) + 1;
				rest = rest.subarray(end);
				answered++;
				if (answered === requests) finish();
				else if (pace === 0) ask();
				else {
					idle.push(ask);
					wakeThoseDue();
				}
			}
		});
		socket.on("close", () => {
			if (answered < requests) throw new Error("the server closed a connection");
		});
		if (pace === 0) ask();
		else idle.push(ask);
	}

	function finish(): void {
		const answer: LoadAnswer = {
			perSecond: answered / ((performance.now() - startedAt) / 1_000),
			p50Ms: percentile(waitsMs, 0.5),
			p99Ms: percentile(waitsMs, 0.99),
			statuses,
		};
		process.stdout.write(`${JSON.stringify(answer)}\n`);
		process.exit();
	}
}

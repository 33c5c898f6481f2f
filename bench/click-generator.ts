// People who click on links, over kept connections, one request at a time on each: as fast as they are answered, or so
// many a second. Then a wait counts from the moment at which the click was due, so that a server that stands still is
// not spared the clicks of that time.
// Arguments: URL, codes joined by commas, clicks, connections, clicks a second (0: as fast as may be). Prints a LoadAnswer.

import { connect, type Socket } from "node:net";
import { percentile } from "./figures.ts";
import { findFrame } from "./http-frames.ts";
import type { LoadAnswer } from "./load-process.ts";

const [url = "", codeList = "", clickCount = "", connections = "", perSecond = ""] = process.argv.slice(2);
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
const STATUS_START = "HTTP/1.1 ".length;
const STATUS_END = STATUS_START + 3;

const { hostname, port } = new URL(url);
const clicks = Number(clickCount);
const pace = Number(perSecond);
const requests = codeList.split(",").map((code) => {
	const head = `GET /c/${code}?s1=bench HTTP/1.1\r\nHost: ${hostname}:${port}\r\nUser-Agent: ${BROWSER}\r\n`;
	return Buffer.from(`${head}Accept: text/html\r\nSec-Fetch-Dest: document\r\n\r\n`);
});
const statuses: Record<string, number> = {};
const waitsMs: number[] = [];
const idle: (() => void)[] = [];
let asked = 0;
let answered = 0;
const sockets = await Promise.all(Array.from({ length: Number(connections) }, open));
const startedAt = performance.now();
for (const socket of sockets) keepClicking(socket);
if (pace > 0) {
	const timer = setInterval(() => {
		wakeThoseDue();
		if (asked >= clicks) clearInterval(timer);
	}, 1);
}

function open(): Promise<Socket> {
	return new Promise((resolve, reject) => {
		const socket = connect(Number(port), hostname, () => resolve(socket));
		socket.setNoDelay(true);
		socket.once("error", reject);
	});
}

/** When the n-th click is due, counted from the start. */
function dueMs(click: number): number {
	return (click / pace) * 1_000;
}

function wakeThoseDue(): void {
	while (idle.length > 0 && asked < clicks && dueMs(asked) <= performance.now() - startedAt) idle.pop()?.();
}

function keepClicking(socket: Socket): void {
	let rest: Buffer = Buffer.alloc(0);
	let sinceMs = 0;
	const click = (): void => {
		if (asked >= clicks) return;
		sinceMs = pace > 0 ? startedAt + dueMs(asked) : performance.now();
		socket.write(requests[asked++ % requests.length] ?? "");
	};
	socket.on("data", (chunk: Buffer) => {
		rest = rest.length === 0 ? chunk : Buffer.concat([rest, chunk]);
		for (let frame = findFrame(rest); frame !== undefined; frame = findFrame(rest)) {
			const status = rest.toString("latin1", STATUS_START, STATUS_END);
			statuses[status] = (statuses[status] ?? 0) + 1;
			waitsMs.push(performance.now() - sinceMs);
			rest = rest.subarray(frame.end);
			answered++;
			if (answered === clicks) finish();
			else if (pace === 0) click();
			else {
				idle.push(click);
				wakeThoseDue();
			}
		}
	});
	socket.on("close", () => {
		if (answered < clicks) throw new Error("the server closed a connection");
	});
	if (pace === 0) click();
	else idle.push(click);
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

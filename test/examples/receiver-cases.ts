// Cases that every receiver must handle: the rules of contract section 4.3 one by one, and requests that no Ringback
// sends, which it must refuse without harm. All languages share one table.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { until } from "../support/until.ts";
import {
	asHeader,
	type Callback,
	type CallbackOptions,
	makeCallback,
	makeEvent,
	secondsFromNow,
	send,
	withHeader,
	withoutHeader,
} from "./callback.ts";
import { type ExampleFolder, OLDER_SECRET, type RunningReceiver } from "./example-folder.ts";

export interface ReceiverAtHand {
	readonly secret: string;
	readonly receiver: RunningReceiver;
	readonly folder: ExampleFolder;
}

type Event = Record<string, unknown>;
/** Creates a callback that is valid except for the given options. */
type Seal = (options?: Partial<CallbackOptions>) => Callback;

const MAX_BODY_BYTES = 65_536;
/** Number of concurrent requests, which is enough to collide even on two cores. */
const AT_ONCE = 16;
/**
 * Number of clients that never finish their bodies. It is larger than a usual thread pool. A pool that grows
 * by two threads a second would serve the last one after 20 s.
 */
const STRANGERS = 48;
/** Time that the service waits for an answer (contract section 4.1). */
const ANSWER_WITHIN_MS = 5_000;
const TRIO = ["Timestamp", "Nonce", "Signature"] as const;

/** Requests that must be answered with 401 and must not be processed, each made from a new event and its body. */
const REFUSED: Readonly<Record<string, readonly ((seal: Seal, body: string) => Callback)[]>> = {
	"a callback that is 301 seconds old or more than 300 seconds ahead": [
		(seal) => seal({ timestamp: secondsFromNow(-301) }),
		// Ten seconds more than the tolerance, because on a slow machine the receiver reads its clock later.
		(seal) => seal({ timestamp: secondsFromNow(310) }),
		(seal) => seal({ timestamp: "0" }),
	],
	"a body, path, query, nonce, timestamp or method other than the signed one": [
		(seal, body) => ({ ...seal({ body: body.replace("APPROVED", "REJECTED") }), body: Buffer.from(body) }),
		(seal, body) => ({ ...seal(), body: Buffer.from(`${body} `) }),
		(seal) => ({ ...seal(), target: "/Postback?shop=1" }),
		(seal) => ({ ...seal(), target: "/postback?shop=2" }),
		(seal) => ({ ...seal(), target: "/postback" }),
		(seal) => ({ ...seal({ target: "/postback" }), target: "/postback?" }),
		(seal) => withHeader(seal(), "Nonce", "0".repeat(32)),
		(seal) => withHeader(seal(), "Timestamp", secondsFromNow(-9)),
		(seal) => seal({ signedMethod: "GET" }),
		(seal) => seal({ secret: "another" }),
		(seal) => seal({ secret: "" }),
	],
	"the same JSON in other bytes": [
		(seal, body) => ({ ...seal(), body: Buffer.from(JSON.stringify(JSON.parse(body), null, 1)) }),
		(seal, body) => ({ ...seal(), body: Buffer.from(body.replace("A", "\\u0041")) }),
		(seal, body) => ({ ...seal(), body: Buffer.from(`${body}\n`) }),
	],
	"a missing or empty header": [
		...TRIO.map((name) => (seal: Seal) => withoutHeader(seal(), name)),
		...TRIO.map((name) => (seal: Seal) => withHeader(seal(), name, "")),
		(seal) => ({ ...seal(), headers: {} }),
	],
	"no nonce, or an empty one, even when it is signed": [
		(seal) => seal({ nonce: "" }),
		(seal) => withoutHeader(seal({ nonce: "" }), "Nonce"),
	],
	"a repeated header": TRIO.map((name) => (seal) => withHeader(seal(), name, ["zz", "zz"])),
	"a timestamp that is not all digits, even when it is signed": oddTimestamps().map(
		(timestamp) => (seal) => seal({ timestamp }),
	),
	"a malformed signature": [
		() => "é".repeat(64),
		() => asHeader("ａ".repeat(64)),
		() => "zz".repeat(32),
		(signature: string) => signature.slice(0, -1),
		(signature: string) => signature.slice(0, -2),
		(signature: string) => `${signature}00`,
		(signature: string) => `${signature}é`,
		(signature: string) => `0x${signature}`,
		(signature: string) => `${signature}, ${signature}`,
		() => "0".repeat(64),
		() => "null",
	].map((form) => (seal) => {
		const callback = seal();
		return withHeader(callback, "Signature", form(String(callback.headers["X-Service-Signature"])));
	}),
};

function oddTimestamps(): string[] {
	const now = secondsFromNow(0);
	const inDigitsFrom = (zero: number) =>
		[...now].map((digit) => String.fromCodePoint(zero + Number(digit))).join("");
	// Each text is sent as its UTF-8 bytes, and as the bytes of the text that a server would read from them.
	// The receiver must refuse both.
	const others = [inDigitsFrom(0xff10), inDigitsFrom(0x660), `${now}é`].flatMap((text) => [
		asHeader(text),
		asHeader(asHeader(text)),
	]);
	const texts = ["12e3", `${now}e0`, `${now}.0`, `+${now}`, `-${now}`, `0x${Number(now).toString(16)}`, ""];
	const numbers = [
		`${now.slice(0, 4)}_${now.slice(4)}`,
		`${now},0`,
		"9".repeat(30),
		"9".repeat(5_000),
		"NaN",
	];
	return [...texts, ...numbers, ...others];
}

export const RECEIVER_CASES: Readonly<Record<string, (at: ReceiverAtHand) => Promise<void>>> = {
	async "a valid callback is answered with 204 without a body and processed once"(at) {
		const event = makeEvent({ orderId: `O'Brien "1" \\ Übung 注文 🛒` });
		deepEqual(await send(at.receiver.port, sealed(at, { body: JSON.stringify(event) })), {
			status: 204,
			text: "",
		});
		await expectLine(at, event);
	},
	async "a signature in capitals and header names in any case are accepted"(at) {
		for (const spell of [(name: string) => name.toUpperCase(), (name: string) => name.toLowerCase()]) {
			const event = makeEvent();
			const callback = sealed(at, { body: JSON.stringify(event) });
			const signature = String(callback.headers["X-Service-Signature"]).toUpperCase();
			const all = Object.entries({ ...callback.headers, "X-Service-Signature": signature });
			const headers = Object.fromEntries(all.map(([name, value]) => [spell(name), value]));
			await expectStatus(at, { ...callback, headers }, 204);
			await expectLine(at, event);
		}
	},
	async "the event header is not signed, so it is ignored and the body names the event"(at) {
		for (const change of [
			(callback: Callback) => withHeader(callback, "Event", "conversion.reversed"),
			(callback: Callback) => withoutHeader(callback, "Event"),
		]) {
			const event = makeEvent();
			await expectStatus(at, change(sealed(at, { body: JSON.stringify(event) })), 204);
			await expectLine(at, event);
		}
	},
	async "path, query and white space in the body are verified unchanged, from 290 seconds old to 300 ahead"(
		at,
	) {
		const targets = ["/a/../b?x=1", "/a//b/./c/", "/p?x='*,", "/p?a=[1]&b=%2F%2f", "/%70ostback"];
		for (const target of [...targets, "/p?b=2&a=1&b=1"]) await expectStatus(at, sealed(at, { target }), 204);
		for (const away of [-290, 300]) {
			await expectStatus(at, sealed(at, { timestamp: secondsFromNow(away) }), 204);
		}
		const event = makeEvent();
		await expectStatus(at, sealed(at, { body: `\r\n${JSON.stringify(event, null, 3)}\n` }), 204);
		await expectLine(at, event);
	},
	...Object.fromEntries(
		Object.entries(REFUSED).map(([what, makers]) => [
			`${what} is answered 401`,
			async (at: ReceiverAtHand) => {
				for (const make of makers) await expectRefused(at, make);
			},
		]),
	),
	async "both secrets are accepted during a replacement"(at) {
		const event = makeEvent();
		const callback = sealed(at, { body: JSON.stringify(event), secret: OLDER_SECRET });
		await expectStatus(at, callback, 204);
		await expectLine(at, event);
		await expectRefused(at, (seal) => seal({ secret: `${OLDER_SECRET},${at.secret}` }));
	},
	async "a refusal says why, and the path is logged"(at) {
		const { port, process } = at.receiver;
		const stale = await send(port, sealed(at, { timestamp: secondsFromNow(-700) }));
		match(stale?.text ?? "", /timestamp.*7\d\d s/);
		const foreign = await send(port, { ...sealed(at), target: "/another?shop=2" });
		match(foreign?.text ?? "", /signature/);
		await until(() => process.stderr.includes("/another?shop=2"));
	},
	async "a copied request is answered with 401, and the event is not processed again"(at) {
		const event = makeEvent();
		const callback = sealed(at, { body: JSON.stringify(event) });
		await expectStatus(at, callback, 204);
		await expectStatus(at, callback, 401);
		// The second callback is about another event, so that only the nonce is repeated.
		await expectRefused(at, (seal) => seal({ nonce: String(callback.headers["X-Service-Nonce"]) }));
		await expectLine(at, event);
	},
	async "the same event with new nonces is answered with 204 each time and processed once"(at) {
		const event = makeEvent();
		for (const sentAt of ["2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z"]) {
			await expectStatus(at, sealed(at, { body: JSON.stringify({ ...event, sentAt }) }), 204);
		}
		const next = { ...event, event: "conversion.reversed", status: "REVERSED", reason: "RETURN" };
		await expectStatus(at, sealed(at, { body: JSON.stringify(next) }), 204);
		const lines = () => at.receiver.linesOf(String(event["conversionId"]));
		await until(() => lines().length >= 2);
		const shown = lines().map((line) => /conversion\.\w+/.exec(line)?.[0]);
		deepEqual(shown.sort(), ["conversion.approved", "conversion.reversed"]);
	},
	async "the same event many times at once is answered with 204 each time and processed once"(at) {
		const event = makeEvent();
		const body = JSON.stringify(event);
		await Promise.all(Array.from({ length: AT_ONCE }, () => expectStatus(at, sealed(at, { body }), 204)));
		await expectLine(at, event);
	},
	async "the receiver answers 503 while nothing can be stored, and accepts the same request afterwards"(at) {
		const event = makeEvent();
		const callback = sealed(at, { body: JSON.stringify(event) });
		await at.folder.withoutStore(async () => {
			await expectStatus(at, callback, 503);
			await expectNoLine(at, event);
		});
		await expectStatus(at, callback, 204);
		await expectLine(at, event);
	},
	async "huge headers are refused and harm nothing"(at) {
		for (const name of TRIO) {
			const event = makeEvent();
			const huge = withHeader(sealed(at, { body: JSON.stringify(event) }), name, "1".repeat(7_000));
			const status = (await send(at.receiver.port, huge))?.status ?? 400;
			ok(status >= 400 && status < 500, String(status));
			await expectNoLine(at, event);
		}
	},
	async "a body of 64 KiB is accepted, and one byte more is answered with 413"(at) {
		const event = makeEvent();
		const body = JSON.stringify(event).padEnd(MAX_BODY_BYTES);
		await expectStatus(at, sealed(at, { body: `${body} ` }), 413);
		await expectNoLine(at, event);
		await expectStatus(at, sealed(at, { body }), 204);
		await expectLine(at, event);
		// This body is so large that a receiver may close the connection before all of it is sent.
		const answered = await send(at.receiver.port, sealed(at, { body: " ".repeat(32 * MAX_BODY_BYTES) }));
		ok(answered === undefined || answered.status === 413, String(answered?.status));
	},
	async "a signed body that is not an event is answered with 400"(at) {
		const bodies = [
			"",
			"no JSON",
			"[]",
			"5",
			"null",
			'"conversionId"',
			"{}",
			'{"event":"conversion.approved"}',
		];
		for (const body of [...bodies, Buffer.from([0x7b, 0x00, 0xff, 0xfe, 0x80, 0x0a, 0x7d])]) {
			await expectStatus(at, sealed(at, { body }), 400);
		}
	},
	async "events whose names look like paths are stored and processed, and nothing is stored elsewhere"(at) {
		const name = String(makeEvent()["conversionId"]);
		const paths = [`a/${name}`, `b/${name}`, `../${name}`, `..\\${name}`, at.folder.pathOf(name)];
		const pairs = [
			...paths.map((path) => [path, "conversion.approved"] as const),
			// These two pairs are equal if they are joined with a dot or written to a disk that ignores case.
			[`${name}.conversion`, "approved.x"],
			[name, "conversion.approved.x"],
			[name.toUpperCase(), "conversion.approved.x"],
			[name, `../../${name}`],
		] as const;
		const before = at.folder.listFiles();
		for (const [conversionId, event] of pairs) {
			const body = JSON.stringify(makeEvent({ conversionId, event }));
			await expectStatus(at, sealed(at, { body }), 204);
		}
		const shown = ([conversionId, event]: (typeof pairs)[number]) =>
			at.receiver.linesOf(conversionId).filter((line) => line.includes(`${event} ${conversionId} `)).length;
		await until(
			() => pairs.every((pair) => shown(pair) === 1),
			() => `not all are worked on: ${pairs.map(shown)}`,
		);
		const newFiles = at.folder.listFiles().filter((path) => !before.includes(path));
		if (at.folder.storeFolder === null) return deepEqual(newFiles, []);
		for (const path of newFiles) equal(dirname(path), at.folder.storeFolder);
		equal(new Set(newFiles.map((path) => path.toLowerCase())).size, pairs.length);
	},
	async "a valid callback in chunks is accepted or answered with 5xx, because a 4xx would end the delivery"(
		at,
	) {
		const event = makeEvent();
		const callback = { ...sealed(at, { body: JSON.stringify(event) }), isChunked: true };
		const status = (await send(at.receiver.port, callback))?.status ?? 0;
		ok(status === 204 || status >= 500, String(status));
		await (status === 204 ? expectLine : expectNoLine)(at, event);
	},
	async "a valid callback is answered in time while other clients never finish their bodies"(at) {
		const strangers = await Promise.all(Array.from({ length: STRANGERS }, () => startBody(at.receiver.port)));
		const sentAtMs = performance.now();
		const answered = await send(at.receiver.port, sealed(at));
		const tookMs = performance.now() - sentAtMs;
		const closed = strangers.map((stranger) => once(stranger, "close"));
		for (const stranger of strangers) stranger.destroy();
		await Promise.all(closed);
		equal(answered?.status, 204);
		ok(tookMs < ANSWER_WITHIN_MS, `it took ${Math.round(tookMs)} ms`);
	},
	async "any method but POST is answered with 405"(at) {
		await expectStatus(at, { ...sealed(at, { body: "", signedMethod: "GET" }), method: "GET" }, 405);
	},
};

/** Sends the head and two bytes of the body, and never sends the rest. */
async function startBody(port: number): Promise<Socket> {
	const socket = connect(port, "127.0.0.1");
	// The error is ignored, because the receiver may close the connection, too.
	socket.on("error", () => undefined);
	await once(socket, "connect");
	const head = `POST /postback HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 1000\r\n\r\n`;
	await new Promise((resolve) => socket.write(`${head}xx`, resolve));
	return socket;
}

export async function expectStatus(at: ReceiverAtHand, callback: Callback, status: number): Promise<void> {
	const { method, target, headers } = callback;
	const description = `${method} ${target} ${JSON.stringify(headers).slice(0, 400)}`;
	equal((await send(at.receiver.port, callback))?.status, status, description);
}

async function expectRefused(
	at: ReceiverAtHand,
	make: (seal: Seal, body: string) => Callback,
): Promise<void> {
	const event = makeEvent();
	const body = JSON.stringify(event);
	await expectStatus(
		at,
		make((options) => sealed(at, { body, ...options }), body),
		401,
	);
	await expectNoLine(at, event);
}

/** Waits for the line that the receiver prints for the event after its answer, and expects no second line. */
export async function expectLine(at: ReceiverAtHand, event: Event): Promise<void> {
	const lines = () => at.receiver.linesOf(String(event["conversionId"]));
	await until(
		() => lines().length > 0,
		() => `it printed no line for ${event["conversionId"]}`,
	);
	await expectSettled(at);
	const wanted = `${event["event"]} ${event["conversionId"]} ${event["orderId"]} ${event["status"]}`;
	// The comparison ignores the time that PHP's log puts before the line.
	deepEqual(
		lines().map((line) => line.slice(-wanted.length)),
		[wanted],
	);
}

export async function expectNoLine(at: ReceiverAtHand, event: Event): Promise<void> {
	await expectSettled(at);
	deepEqual(at.receiver.linesOf(String(event["conversionId"])), []);
}

/** Waits until everything for earlier requests has been printed, by waiting for the line of a later one. */
async function expectSettled(at: ReceiverAtHand): Promise<void> {
	const marker = makeEvent();
	const answered = await send(at.receiver.port, sealed(at, { body: JSON.stringify(marker) }));
	// Without its store the receiver processes nothing, so no line can come.
	if (answered?.status === 503) return;
	equal(answered?.status, 204, "it no longer takes good callbacks");
	await until(() => at.receiver.linesOf(String(marker["conversionId"])).length > 0);
}

export function sealed(at: ReceiverAtHand, options: Partial<CallbackOptions> = {}): Callback {
	return makeCallback({ secret: at.secret, ...options });
}

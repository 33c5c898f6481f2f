// What a receiver has to do with requests that no Ringback sends: refuse them, and be none the worse for it.

import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { dirname } from "node:path";
import { until } from "../support/until.ts";
import { asHeader, makeEvent, secondsFromNow } from "./callback.ts";
import {
	expectLine,
	expectNoLine,
	expectRefused,
	expectStatus,
	post,
	type ReceiverCase,
	sealed,
	withHeader,
	withoutHeader,
} from "./receiver-expectations.ts";

const MAX_BODY_BYTES = 65_536;
/** More than a pool of threads has, which grows by two a second: the last one would be served after 20 s. */
const STRANGERS = 48;
/** What the service waits for an answer, contract section 4.1. */
const ANSWER_WITHIN_MS = 5_000;

export const HOSTILE_CASES: readonly ReceiverCase[] = [
	{
		title: "a missing or empty header is answered 401",
		check: async (at) => {
			for (const name of ["Timestamp", "Nonce", "Signature"]) {
				await expectRefused(at, (body) => withoutHeader(sealed(at, { body }), name));
				await expectRefused(at, (body) => withHeader(sealed(at, { body }), name, ""));
			}
			await expectRefused(at, (body) => ({ ...sealed(at, { body }), headers: {} }));
		},
	},
	{
		title: "no nonce, or an empty one, is answered 401 even when it is signed",
		check: async (at) => {
			await expectRefused(at, (body) => sealed(at, { body, nonce: "" }));
			await expectRefused(at, (body) => withoutHeader(sealed(at, { body, nonce: "" }), "Nonce"));
		},
	},
	{
		title: "a timestamp that is not all digits is answered 401 even when it is signed",
		check: async (at) => {
			const now = secondsFromNow(0);
			const wide = [...now].map((digit) => String.fromCodePoint(0xff10 + Number(digit))).join("");
			const arabic = [...now].map((digit) => String.fromCodePoint(0x660 + Number(digit))).join("");
			const texts = ["12e3", `${now}e0`, `${now}.0`, `+${now}`, `-${now}`, `0x${Number(now).toString(16)}`];
			const numbers = [
				"",
				`${now.slice(0, 4)}_${now.slice(4)}`,
				`${now},0`,
				"9".repeat(30),
				"9".repeat(5_000),
				"NaN",
			];
			// As bytes, and as the text that a server makes of them: whichever it signs, it is refused.
			const others = [wide, arabic, `${now}é`].flatMap((text) => [text, asHeader(text)]).map(asHeader);
			for (const timestamp of [...texts, ...numbers, ...others]) {
				await expectRefused(at, (body) => sealed(at, { body, timestamp }));
			}
		},
	},
	{
		title: "a signature that is none is answered 401",
		check: async (at) => {
			const forms = [
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
			];
			for (const form of forms) {
				await expectRefused(at, (body) => {
					const callback = sealed(at, { body });
					return withHeader(callback, "Signature", form(String(callback.headers["X-Service-Signature"])));
				});
			}
		},
	},
	{
		title: "headers that come twice, or are huge, are refused and harm nothing",
		check: async (at) => {
			for (const name of ["Timestamp", "Nonce", "Signature"]) {
				await expectRefused(at, (body) => withHeader(sealed(at, { body }), name, ["zz", "zz"]));
				const event = makeEvent();
				const huge = withHeader(sealed(at, { body: JSON.stringify(event) }), name, "1".repeat(7_000));
				const answered = await post(at, huge);
				ok(
					answered === undefined || (answered.status >= 400 && answered.status < 500),
					String(answered?.status),
				);
				await expectNoLine(at, event);
			}
		},
	},
	{
		title: "64 KiB are taken, one byte more is answered 413",
		check: async (at) => {
			const event = makeEvent();
			const body = JSON.stringify(event).padEnd(MAX_BODY_BYTES);
			await expectStatus(at, sealed(at, { body: `${body} ` }), 413);
			await expectNoLine(at, event);
			await expectStatus(at, sealed(at, { body }), 204);
			await expectLine(at, event);
			// So far beyond the limit, a receiver may hang up while we still send.
			const answered = await post(at, sealed(at, { body: " ".repeat(32 * MAX_BODY_BYTES) }));
			ok(answered === undefined || answered.status === 413, String(answered?.status));
		},
	},
	{
		title: "what is signed and yet no event is answered 400",
		check: async (at) => {
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
	},
	{
		title: "events whose names could be paths are all stored and worked on, and nothing is stored elsewhere",
		check: async (at) => {
			const name = String(makeEvent()["conversionId"]);
			const pairs = [
				[`a/${name}`, "conversion.approved"],
				[`b/${name}`, "conversion.approved"],
				[`../${name}`, "conversion.approved"],
				[`..\\${name}`, "conversion.approved"],
				[at.folder.pathOf(name), "conversion.approved"],
				// Joined with a dot, or spelt on a disk that knows no capitals, these two pairs are one.
				[`${name}.conversion`, "approved.x"],
				[name, "conversion.approved.x"],
				[name.toUpperCase(), "conversion.approved.x"],
				[name, `../../${name}`],
			] as const;
			const before = at.folder.listFiles();
			const makeBody = (conversionId: string, event: string) =>
				JSON.stringify(makeEvent({ conversionId, event }));
			for (const [conversionId, event] of pairs) {
				await expectStatus(at, sealed(at, { body: makeBody(conversionId, event) }), 204);
			}
			const shown = (conversionId: string, event: string) =>
				at.receiver.linesOf(conversionId).filter((line) => line.includes(`${event} ${conversionId} `)).length;
			await until(
				() => pairs.every(([conversionId, event]) => shown(conversionId, event) === 1),
				() => `not all are worked on: ${pairs.map(([conversionId, event]) => shown(conversionId, event))}`,
			);
			const made = at.folder.listFiles().filter((path) => !before.includes(path));
			if (at.folder.storeFolder === null) return deepEqual(made, []);
			deepEqual(
				made.filter((path) => dirname(path) !== at.folder.storeFolder),
				[],
			);
			equal(new Set(made.map((path) => path.toLowerCase())).size, pairs.length);
		},
	},
	{
		title: "a good callback in chunks is taken, or answered 5xx, because a 4xx would end the delivery",
		check: async (at) => {
			const event = makeEvent();
			const answered = await post(at, { ...sealed(at, { body: JSON.stringify(event) }), isChunked: true });
			ok(
				answered !== undefined && (answered.status === 204 || answered.status >= 500),
				`${answered?.status}`,
			);
			if (answered.status === 204) await expectLine(at, event);
			else await expectNoLine(at, event);
		},
	},
	{
		title: "while strangers never finish their bodies, a good callback is answered in time",
		check: async (at) => {
			const strangers = await Promise.all(
				Array.from({ length: STRANGERS }, () => startBody(at.receiver.port)),
			);
			const sentAtMs = performance.now();
			const answered = await post(at, sealed(at));
			const tookMs = performance.now() - sentAtMs;
			const closed = strangers.map((stranger) => once(stranger, "close"));
			for (const stranger of strangers) stranger.destroy();
			await Promise.all(closed);
			equal(answered?.status, 204);
			ok(tookMs < ANSWER_WITHIN_MS, `it took ${Math.round(tookMs)} ms`);
		},
	},
	{
		title: "anything but POST is answered 405",
		check: async (at) => {
			await expectStatus(at, { ...sealed(at, { body: "", signedMethod: "GET" }), method: "GET" }, 405);
		},
	},
];

/** Its head and two bytes of its body are on the way; the rest never comes. */
async function startBody(port: number): Promise<Socket> {
	const socket = connect(port, "127.0.0.1");
	// It may be hung up on, which is as good.
	socket.on("error", () => undefined);
	await once(socket, "connect");
	const head = `POST /postback HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Length: 1000\r\n\r\n`;
	await new Promise((resolve) => socket.write(`${head}xx`, resolve));
	return socket;
}

// What a receiver has to do with requests that no Ringback sends: refuse them, and be none the worse for it.

import { ok } from "node:assert/strict";
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
		title: "anything but POST is answered 405",
		check: async (at) => {
			await expectStatus(at, { ...sealed(at, { body: "", signedMethod: "GET" }), method: "GET" }, 405);
		},
	},
];

// What a receiver has to do with a callback, section 4.3 of the contract rule by rule: one table for every language.

import { deepEqual, match, ok } from "node:assert/strict";
import { until } from "../support/until.ts";
import { makeEvent, secondsFromNow } from "./callback.ts";
import { OLDER_SECRET } from "./example-folder.ts";
import {
	expectLine,
	expectNoLine,
	expectRefused,
	expectStatus,
	post,
	type ReceiverCase,
	sealed,
	shownEvents,
	withHeader,
} from "./receiver-expectations.ts";

/** Enough concurrent requests to collide even on two cores. */
const AT_ONCE = 16;

export const RECEIVER_CASES: readonly ReceiverCase[] = [
	{
		title: "a good callback is answered 204 without a body and worked on once",
		check: async (at) => {
			const event = makeEvent({ orderId: `O'Brien "1" \\ Übung 注文 🛒` });
			const answered = await post(at, sealed(at, { body: JSON.stringify(event) }));
			deepEqual(answered, { status: 204, text: "" });
			await expectLine(at, event);
		},
	},
	{
		title: "a signature in capitals and header names in any case are as good",
		check: async (at) => {
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
	},
	{
		title: "path and query are taken as they came, not tidied up",
		check: async (at) => {
			const targets = [
				"/a/../b?x=1",
				"/a//b/./c/",
				"/p?x='*,",
				"/p?a=[1]&b=%2F%2f",
				"/%70ostback",
				"/p?b=2&a=1&b=1",
			];
			for (const target of targets) await expectStatus(at, sealed(at, { target }), 204);
		},
	},
	{
		title: "290 seconds old and 300 seconds ahead are fresh",
		check: async (at) => {
			await expectStatus(at, sealed(at, { timestamp: secondsFromNow(-290) }), 204);
			await expectStatus(at, sealed(at, { timestamp: secondsFromNow(300) }), 204);
		},
	},
	{
		title: "301 seconds old and more than 300 seconds ahead are answered 401",
		check: async (at) => {
			await expectRefused(at, (body) => sealed(at, { body, timestamp: secondsFromNow(-301) }));
			// Ten seconds more than the tolerance: on a slow machine the receiver looks at its clock later.
			await expectRefused(at, (body) => sealed(at, { body, timestamp: secondsFromNow(310) }));
			await expectRefused(at, (body) => sealed(at, { body, timestamp: "0" }));
		},
	},
	{
		title: "a body, path, query, nonce, timestamp or method other than the signed one is answered 401",
		check: async (at) => {
			await expectRefused(at, (body) => ({
				...sealed(at, { body: body.replace("APPROVED", "REJECTED") }),
				body: Buffer.from(body),
			}));
			await expectRefused(at, (body) => ({ ...sealed(at, { body }), body: Buffer.from(`${body} `) }));
			await expectRefused(at, (body) => ({ ...sealed(at, { body }), target: "/Postback?shop=1" }));
			await expectRefused(at, (body) => ({ ...sealed(at, { body }), target: "/postback?shop=2" }));
			await expectRefused(at, (body) => ({ ...sealed(at, { body }), target: "/postback" }));
			await expectRefused(at, (body) => ({
				...sealed(at, { body, target: "/postback" }),
				target: "/postback?",
			}));
			await expectRefused(at, (body) => withHeader(sealed(at, { body }), "Nonce", "0".repeat(32)));
			await expectRefused(at, (body) => withHeader(sealed(at, { body }), "Timestamp", secondsFromNow(-9)));
			await expectRefused(at, (body) => sealed(at, { body, signedMethod: "GET" }));
			await expectRefused(at, (body) => sealed(at, { body, secret: `${at.secret}x` }));
			await expectRefused(at, (body) => sealed(at, { body, secret: "" }));
		},
	},
	{
		title: "while the secret is being replaced, both are good",
		check: async (at) => {
			const event = makeEvent();
			const callback = sealed(at, { body: JSON.stringify(event), secret: OLDER_SECRET });
			await expectStatus(at, callback, 204);
			await expectLine(at, event);
			await expectRefused(at, (body) => sealed(at, { body, secret: `${OLDER_SECRET},${at.secret}` }));
		},
	},
	{
		title: "a refusal says why, and logs the path",
		check: async (at) => {
			const stale = await post(at, sealed(at, { timestamp: secondsFromNow(-700) }));
			match(stale?.text ?? "", /timestamp.*7\d\d s/);
			const foreign = await post(at, { ...sealed(at, {}), target: "/another?shop=2" });
			match(foreign?.text ?? "", /signature/);
			await until(() => at.receiver.process.stderr.includes("/another?shop=2"));
		},
	},
	{
		title: "the same JSON in other bytes is answered 401",
		check: async (at) => {
			for (const rewrite of [
				(body: string) => JSON.stringify(JSON.parse(body), null, 1),
				(body: string) => body.replace("Ü", "\\u00dc"),
				(body: string) => `${body}\n`,
			]) {
				const event = makeEvent({ orderId: "Ü-1" });
				const body = JSON.stringify(event);
				const other = rewrite(body);
				ok(other !== body);
				await expectStatus(at, { ...sealed(at, { body }), body: Buffer.from(other) }, 401);
				await expectNoLine(at, event);
			}
			// The other way round: signed with white space, and sent so, it is good.
			const event = makeEvent();
			await expectStatus(at, sealed(at, { body: `\r\n${JSON.stringify(event, null, 3)}\n` }), 204);
			await expectLine(at, event);
		},
	},
	{
		title: "a copied request is answered 401, and the event is not worked on again",
		check: async (at) => {
			const event = makeEvent();
			const callback = sealed(at, { body: JSON.stringify(event) });
			await expectStatus(at, callback, 204);
			await expectStatus(at, callback, 401);
			// Another event, so that it is the nonce that is recognised.
			const nonce = String(callback.headers["X-Service-Nonce"]);
			await expectRefused(at, (body) => sealed(at, { body, nonce }));
			await expectLine(at, event);
		},
	},
	{
		title: "the same event with new nonces is answered 204 each time and worked on once",
		check: async (at) => {
			const event = makeEvent();
			for (const sentAt of ["2026-01-01T00:00:00.000Z", "2026-01-01T00:01:00.000Z"]) {
				await expectStatus(at, sealed(at, { body: JSON.stringify({ ...event, sentAt }) }), 204);
			}
			const next = { ...event, event: "conversion.reversed", status: "REVERSED", reason: "RETURN" };
			await expectStatus(at, sealed(at, { body: JSON.stringify(next) }), 204);
			await until(() => at.receiver.linesOf(String(event["conversionId"])).length >= 2);
			deepEqual(shownEvents(at, event).sort(), ["conversion.approved", "conversion.reversed"]);
		},
	},
	{
		title: "the same event many times at once is answered 204 each time and worked on once",
		check: async (at) => {
			const event = makeEvent();
			const body = JSON.stringify(event);
			await Promise.all(Array.from({ length: AT_ONCE }, () => expectStatus(at, sealed(at, { body }), 204)));
			await expectLine(at, event);
		},
	},
	{
		title: "while nothing can be stored it answers 503, and takes the very same request afterwards",
		check: async (at) => {
			const event = makeEvent();
			const callback = sealed(at, { body: JSON.stringify(event) });
			await at.folder.withoutStore(async () => {
				await expectStatus(at, callback, 503);
				await expectNoLine(at, event);
			});
			await expectStatus(at, callback, 204);
			await expectLine(at, event);
		},
	},
];

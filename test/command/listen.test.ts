// Tests `ringback listen` as a developer runs it, as a separate process with a real service and a real
// receiver.

import { deepEqual, equal, match, ok } from "node:assert/strict";
import { describe, test } from "node:test";
import { hasStack } from "../support/command-home.ts";
import { startShop } from "../support/shop.ts";
import { until } from "../support/until.ts";
import { openKillableSetup, openListenSetup, shown, untilReceived } from "./listen-setup.ts";

describe("ringback listen", { concurrency: 2 }, () => {
	test("listen forwards each event once as a callback that verifies, prints the result, and ends with a count on Ctrl-C", async (t) => {
		const setup = await openListenSetup(t);
		const receiver = await setup.receive();
		const listening = await setup.listen(receiver.url);
		match(
			listening.stdout,
			new RegExp(`^Listening to ${setup.account.programmeId} \\(all events, tests too\\)`),
		);
		match(listening.stdout, /^No Postback URL is saved: events come here only\. Ctrl-C ends this\.$/m);
		await setup.client.record({ orderId: "ORDER-1001", basketValue: "49.90" });
		await setup.client.approve({ orderId: "ORDER-1001" });
		await setup.client.reverse({ orderId: "ORDER-1001", reason: "RETURN" });
		await untilReceived(receiver, 3, listening);
		deepEqual(
			receiver.requests.map(({ refused }) => refused),
			[null, null, null],
		);
		deepEqual(shown(receiver), ["ORDER-1001 RECORDED", "ORDER-1001 APPROVED", "ORDER-1001 REVERSED"]);
		const [request] = receiver.requests;
		equal(request?.path, "/postback?shop=1");
		equal(request?.headers["user-agent"], "service-postback/1");
		equal(request?.headers["authorization"], undefined, "the API key goes to nobody but the service");
		const nonces = receiver.requests.map(({ headers }) => headers["x-service-nonce"]);
		equal(new Set(nonces).size, 3);
		await listening.said(/REVERSED/);
		match(
			listening.stdout,
			/^\d\d:\d\d:\d\d {2}conversion\.approved {2}ORDER-1001 {2}APPROVED {2}→ 204 in \d+ ms$/m,
		);
		listening.kill("SIGINT");
		const ended = await listening.ended();
		deepEqual([ended.code, ended.stderr.trim()], [0, "Forwarded 3 events."]);
		ok(!ended.stdout.includes(setup.account.secret) && !ended.stdout.includes("\u001b"));
	});

	test("without --to listen checks the service's own signatures, and in both modes it reports each result to the service", async (t) => {
		const setup = await openListenSetup(t);
		const reported = async () => {
			const workplace = await setup.opened.openWorkplace();
			const rows = await workplace.store.db.selectFrom("local_answers").selectAll().orderBy("id").execute();
			await workplace.close();
			return rows.map(({ event, outcome, http_status, code }) => [event, outcome, http_status, code]);
		};
		const untilReported = (count: number) => until(async () => (await reported()).length >= count);
		const checking = await setup.listen(null);
		match(checking.stdout, /\(all events, tests too\), checking their signatures$/m);
		await setup.client.record({ orderId: "ORDER-1", basketValue: "49.90" });
		await checking.said(
			/^\d\d:\d\d:\d\d {2}conversion\.recorded {2}ORDER-1 +RECORDED {2}→ signature valid$/m,
		);
		await untilReported(1);
		checking.kill("SIGINT");
		const ended = await checking.ended();
		deepEqual([ended.code, ended.stderr.trim()], [0, "Checked 1 event."]);
		deepEqual(await reported(), [["conversion.recorded", "verified", null, null]]);

		const receiver = await setup.receive();
		receiver.answer = 401;
		const forwarding = await setup.listen(receiver.url);
		await setup.client.approve({ orderId: "ORDER-1" });
		await forwarding.said(/→ 401/);
		await receiver.close();
		await setup.client.reverse({ orderId: "ORDER-1", reason: "RETURN" });
		await forwarding.said(/ECONNREFUSED/);
		await untilReported(3);
		forwarding.kill("SIGINT");
		equal((await forwarding.ended()).code, 0);
		deepEqual((await reported()).slice(1), [
			["conversion.approved", "answered", 401, null],
			["conversion.reversed", "no_connection", null, "ECONNREFUSED"],
		]);
	});

	test("with --test-only, --json and --print-body listen prints one object a line on standard output and nothing else", async (t) => {
		const setup = await openListenSetup(t);
		const receiver = await setup.receive();
		const listening = await setup.listen(receiver.url, ["--test-only", "--json", "--print-body"]);
		match(listening.stderr, /\(test events only\)/);
		await setup.client.record({ orderId: "real", basketValue: "1.00" });
		// A private-use character, which the service accepts and a terminal may display in its own way.
		const odd = "odd \ue000\u{1f600}";
		for (const end of ["\u009b1m", "\u202e"]) {
			const refused = await setup.client.record({ orderId: odd + end, basketValue: "1.00", test: true });
			equal(refused.ok, false);
		}
		await setup.client.record({ orderId: odd, basketValue: "1.00", test: true });
		await untilReceived(receiver, 1, listening);
		await listening.said(/"verdict"/);
		const [start = "", line = "", ...rest] = listening.stdout.trimEnd().split("\n");
		deepEqual(rest, []);
		const { cursor: startCursor, ...greeting } = JSON.parse(start);
		deepEqual(greeting, { event: "listening", programId: setup.account.programmeId });
		const { sent, at, tookMs, cursor, conversionId, ...others } = JSON.parse(line);
		deepEqual(others, {
			event: "conversion.recorded",
			orderId: odd,
			status: "RECORDED",
			test: true,
			to: receiver.url,
			httpStatus: 204,
			answerText: null,
			verdict: "delivered",
			advice: null,
		});
		ok(!/[\ue000]/.test(line), "what a terminal may show otherwise is escaped");
		equal(sent.body, receiver.requests[0]?.body.toString());
		equal(conversionId, JSON.parse(sent.body).conversionId);
		ok(typeof tookMs === "number" && Date.parse(at) > 0 && typeof cursor === "string");
		listening.kill("SIGTERM");
		equal((await listening.ended()).code, 0);

		const fromStart = await setup.listen(receiver.url, [`--since=${startCursor}`, "--test-only"]);
		await untilReceived(receiver, 2, fromStart);
		deepEqual(shown(receiver), Array(2).fill(`${odd} RECORDED`), "the first event is fetched again");
		fromStart.kill("SIGTERM");
		equal((await fromStart.ended()).code, 0);

		await setup.client.approve({ orderId: odd });
		const again = await setup.listen(receiver.url, [`--since=${cursor}`, "--print-body"]);
		await untilReceived(receiver, 3, again);
		await again.said(/^SHA-256 of /m);
		match(again.stdout, /conversion\.approved {2}odd \\u\{e000\}😀 {2}/);
		match(again.stdout, /^\{"event":"conversion\.approved",/m);
	});

	test("no event is missed or forwarded twice if the service is killed and started again", async (t) => {
		const setup = await openKillableSetup(t);
		const receiver = await setup.receive();
		const listening = await setup.listen(receiver.url);
		const orders = Array.from({ length: 12 }, (_, n) => `order ${n}`);
		for (const orderId of orders) await setup.client.record({ orderId, basketValue: "1.00" });
		const deciding = (async () => {
			for (const orderId of orders) {
				for (let isDecided = false; !isDecided; ) {
					isDecided = (await setup.client.approve({ orderId })).ok;
				}
			}
		})();
		await until(() => receiver.requests.length >= 6);
		setup.service.kill("SIGKILL");
		await setup.service.ended();
		await listening.said(/^Connection lost \(ECONNREFUSED\), trying again\.$/m);
		const again = await setup.startAgain();
		await deciding;
		await untilReceived(receiver, 24, listening);
		await setup.client.record({ orderId: "the last one", basketValue: "1.00" });
		await untilReceived(receiver, 25, listening);
		deepEqual(
			receiver.requests.filter(({ refused }) => refused !== null),
			[],
		);
		const reported = shown(receiver);
		equal(new Set(reported).size, 25);
		equal(reported.length, 25, "once each");
		for (const orderId of orders) {
			ok(reported.indexOf(`${orderId} RECORDED`) < reported.indexOf(`${orderId} APPROVED`), orderId);
		}
		match(listening.stderr, /^Connected again\.$/m);
		equal(listening.stderr.match(/Connection lost/g)?.length, 1, "said once");

		again.kill("SIGTERM");
		equal((await again.ended()).code, 0, "a clean stop waits for no listener");
		equal(listening.isRunning, true);
	});

	test("if the receiver is down, refuses or fails, listen says what the service would do, and continues", async (t) => {
		const setup = await openListenSetup(t);
		const receiver = await setup.receive();
		const listening = await setup.listen(receiver.url);
		const sell = async (orderId: string) =>
			void (await setup.client.record({ orderId, basketValue: "1.00" }));
		receiver.answer = 500;
		await sell("failing");
		await listening.said(/failing .*→ 500 in \d+ ms {2}the service would try again in 1 minute$/m);
		receiver.answer = 401;
		await sell("refusing");
		await listening.said(/refusing .*→ 401 in \d+ ms {2}a refusal: the service would stop at once/m);
		receiver.answer = 302;
		await sell("elsewhere");
		await listening.said(/elsewhere .*→ 302 in \d+ ms {2}redirects are not followed/m);
		equal(receiver.requests.length, 3, "no event is forwarded twice");
		await receiver.close();
		await sell("down");
		const { host } = new URL(receiver.url);
		await listening.said(
			new RegExp(
				`down .*→ no connection \\(ECONNREFUSED\\) .*Nothing listens on ${host}: start your receiver$`,
				"m",
			),
		);
		const again = await setup.receive(Number(new URL(receiver.url).port));
		await sell("up");
		await untilReceived(again, 1, listening);
		deepEqual(shown(again), ["up RECORDED"]);
		listening.kill("SIGINT");
		match((await listening.ended()).stderr, /^Forwarded 5 events, 4 of them without a 2xx\.$/m);
	});

	test("a listen command that cannot work prints a sentence and no stack, and exits with 1 if it is refused, with 2 if a setting is missing", async (t) => {
		const setup = await openListenSetup(t);
		const to = ["--to", "http://localhost:3000/postback"];
		const cases: readonly [
			what: string,
			args: readonly string[],
			settings: object,
			code: number,
			sentence: RegExp,
		][] = [
			["cursor", [...to, "--since", "nowhere"], {}, 1, /^This cursor is not one of this programme's\./],
			[
				"nothing set",
				to,
				{ RINGBACK_URL: "", RINGBACK_API_KEY: "", RINGBACK_SIGNING_SECRET: "" },
				2,
				/RINGBACK_URL is not set[\s\S]*RINGBACK_API_KEY is not set[\s\S]*RINGBACK_SIGNING_SECRET is not set/,
			],
			["swapped", to, { RINGBACK_API_KEY: setup.account.secret }, 2, /are swapped/],
			[
				"a path",
				to,
				{ RINGBACK_URL: `${setup.url}/v1` },
				2,
				/^RINGBACK_URL must be the service's address without a path/,
			],
			["--to", ["--to", "localhost:3000"], {}, 2, /^--to must be an http or https address/],
			["user", ["--to", "http://a:b@localhost/"], {}, 2, /^--to must not hold a user name/],
		];
		for (const [what, args, settings, code, sentence] of cases) {
			const ended = await setup.run(["listen", ...args], { ...settings });
			deepEqual([ended.code, ended.stdout], [code, ""], `${what}: ${ended.stderr}`);
			match(ended.stderr, sentence, what);
			equal(hasStack(ended), false, ended.stderr);
			for (const word of [setup.account.secret, setup.account.apiKey]) ok(!ended.stderr.includes(word), what);
		}
	});

	test("the saved Postback URL gets the same deliveries with a listener as without", async (t) => {
		const shop = await startShop();
		t.after(() => shop.close());
		const setup = await openListenSetup(t, { postbackUrl: shop.url(), shopCaPem: shop.caPem });
		const receiver = await setup.receive();
		receiver.answer = 500;
		const walk = async (prefix: string): Promise<string[]> => {
			const before = shop.requests.length;
			for (const orderId of [`${prefix}-1`, `${prefix}-2`]) {
				await setup.client.record({ orderId, basketValue: "12.50" });
				await setup.client.reject({ orderId, reason: "FRAUD" });
			}
			await until(() => shop.requests.length === before + 4);
			// The requests are sorted, because deliveries of one programme are made in parallel and arrive in any
			// order.
			return shop.requests
				.slice(before)
				.map(({ path, rawHeaders, body }) => comparable(path, rawHeaders, body))
				.sort();
		};
		const without = await walk("order-a");
		const listening = await setup.listen(receiver.url);
		match(listening.stdout, /^Callbacks to the saved Postback URL go on as before\. Ctrl-C ends this\.$/m);
		const withListener = await walk("order-b");
		await untilReceived(receiver, 4, listening);
		deepEqual(
			withListener.map((text) => text.replaceAll("order-b", "order-a")),
			without,
		);
		equal(without.length, 4);
		equal(shop.requests.length, 8, "and nothing besides");
	});
});

/** Removes the parts that differ between any two requests: ids, times, nonce and signature. */
function comparable(path: string, rawHeaders: readonly string[], body: Buffer): string {
	const headers = rawHeaders.map((text, at) =>
		/-(?:Timestamp|Nonce|Signature)$/.test(rawHeaders[at - 1] ?? "") ? text.length : text,
	);
	const text = body
		.toString()
		.replace(/cnv_\w+/, "cnv")
		.replace(/"(\w+At)":"[^"]+"/g, '"$1"');
	return JSON.stringify([path, headers, text]);
}

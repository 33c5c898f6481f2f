// Tests the messages of `ringback listen` and `ringback trigger` about mistakes, and how `listen` shows what
// it sent. The text must be enough to find the mistake without another page, and must never contain a secret.

import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { createServer, type RequestListener } from "node:http";
import { describe, test } from "node:test";
import { createReceiver, verifyPostback } from "@ringback/receiver";
import receiverPackage from "../../receiver/package.json" with { type: "json" };
import { hasStack, openHome } from "../support/command-home.ts";
import { type Cleaning, startHttpServer } from "../support/http-server.ts";
import { until } from "../support/until.ts";
import { openListenSetup, untilReceived } from "./listen-setup.ts";

describe("the shop's commands point to the mistake", { concurrency: 2 }, () => {
	test("listen shows the receiver's reason for a refusal, which is a different one for each mistake", async (t) => {
		const setup = await openListenSetup(t);
		const { secret } = setup.account;
		const silent = { onEvent: () => undefined, onRefused: () => undefined };
		const mistakes: readonly [what: string, handler: RequestListener, reason: RegExp][] = [
			["secret", createReceiver({ ...silent, secret: "rbs_another" }).node, /“bad_signature: /],
			["path", createReceiver({ ...silent, secret, path: "/other" }).node, /“bad_signature: /],
			[
				"brand",
				createReceiver({ ...silent, secret, brand: "Acme" }).node,
				/“missing_header: .*X-Acme-Timestamp/,
			],
			[
				"clock",
				createReceiver({ ...silent, secret, now: () => Date.now() + 3_600_000 }).node,
				/“stale_timestamp: /,
			],
		];
		let present: RequestListener | undefined;
		const listening = await setup.listen(await serve(t, (...request) => present?.(...request)));
		for (const [what, handler, reason] of mistakes) {
			present = handler;
			await setup.client.record({ orderId: what, basketValue: "1.00" });
			const [line] = await listening.said(new RegExp(`^.* ${what} .*→ 401 in \\d+ ms.*$`, "m"));
			match(line, reason);
			match(line, /the service would stop at once/);
		}
	});

	test("listen shows one short line of a refusal's text without control characters, does not wait for an endless text, and does not show the text of a 2xx", async (t) => {
		const setup = await openListenSetup(t);
		const answers = {
			long: (_, answer) => answer.writeHead(422).end(`\n\u001b[31mno\u202e ${"x".repeat(100_000)}\nsecond`),
			open: (_, answer) => void answer.writeHead(422).write("still thinking"),
			silent: (_, answer) => answer.writeHead(422).flushHeaders(),
			good: (_, answer) => answer.writeHead(200).end("stored, thank you"),
		} satisfies Readonly<Record<string, RequestListener>>;
		let present: keyof typeof answers = "good";
		const to = await serve(t, (incoming, answer) => answers[present](incoming, answer));
		const [toRead, asJson] = await Promise.all([setup.listen(to), setup.listen(to, ["--json"])]);
		for (const [which, line] of [
			["long", /→ 422 in \d+ ms {2}“\\u\{1b\}\[31mno\\u\{202e\} x{50,300}…” {2}a refusal/],
			["open", /→ 422 in \d+ ms {2}“still thinking” {2}a refusal/],
			["silent", /→ 422 in \d+ ms {2}a refusal/],
			["good", /→ 200 in \d+ ms$/],
		] as const) {
			present = which;
			await setup.client.record({ orderId: which, basketValue: "1.00" });
			const [shown] = await toRead.said(new RegExp(`^.* ${which} .*$`, "m"));
			match(shown, line);
			const [json] = await asJson.said(new RegExp(`^.*"orderId":"${which}".*$`, "m"));
			const { answerText } = JSON.parse(json);
			if (which === "silent" || which === "good") equal(answerText, null);
			else equal(typeof answerText, "string");
		}
		doesNotMatch(toRead.stdout, /second|thank you|\p{Cc}(?<!\n)|\p{Cf}/u);
	});

	test("--print-body shows the signed request as it was sent and the body's SHA-256, and not the secret", async (t) => {
		const setup = await openListenSetup(t);
		const { secret } = setup.account;
		const receiver = await setup.receive();
		const plain = await setup.listen(receiver.url, ["--print-body"]);
		await setup.client.record({ orderId: "Bücher/1", basketValue: "1.00" });
		await plain.said(/^SHA-256 .*$/m);
		const [, path = "", head = "", body = "", count, digest] =
			/^POST (\S+)\n((?:[\w-]+: .*\n)+)\n(.*)\nSHA-256 of these (\d+) bytes: ([0-9a-f]{64})$/m.exec(
				plain.stdout,
			) ?? [];
		const headers = Object.fromEntries(
			head
				.trimEnd()
				.split("\n")
				.map((line) => line.split(": ")),
		);
		const request = receiver.requests[0];
		equal(body, request?.body.toString(), plain.stdout);
		equal(digest, createHash("sha256").update(body).digest("hex"));
		equal(Number(count), request?.body.length);
		const verified = await verifyPostback({ path, headers, rawBody: body, secret });
		ok(verified.ok, "what is printed is all that a check needs");
		ok(!plain.stdout.includes(secret) && !plain.stdout.includes(setup.account.apiKey));

		// A terminal must not obey control characters in an order ID. The shown text then differs from the bytes, and
		// the line says so.
		await setup.client.record({ orderId: "odd \ue000", basketValue: "1.00" });
		await untilReceived(receiver, 2, plain);
		await plain.said(
			/^SHA-256 of the \d+ bytes, before odd characters were escaped for the screen: [0-9a-f]{64}$/m,
		);
		ok(!plain.stdout.includes("\ue000"));
		const [, shownDigest] = /for the screen: (\w+)$/m.exec(plain.stdout) ?? [];
		const sent = receiver.requests[1]?.body ?? "";
		equal(shownDigest, createHash("sha256").update(sent).digest("hex"));
	});

	test("before the service is ready, listen says that it cannot connect yet, and then connects", async (t) => {
		const setup = await openListenSetup(t);
		await setup.opened.stop();
		let asked = 0;
		const { port } = new URL(setup.url);
		const starting = createServer((_, answer) => {
			asked++;
			answer.writeHead(503).end();
		});
		const close = () => {
			const closed = new Promise<void>((resolve) => starting.close(() => resolve()));
			starting.closeAllConnections();
			return closed;
		};
		t.after(() => (starting.listening ? close() : undefined));
		await new Promise<void>((resolve) => starting.listen(Number(port), "127.0.0.1", resolve));
		const args = ["listen", "--to", "http://localhost:3000/postback"];
		const listening = setup.home.startScript("receiver/src/command/main.ts", args, setup.shopSettings);
		await listening.said(/^Cannot connect yet \(it answers HTTP 503.*\), trying again\.$/m);
		await until(() => asked > 1);
		await close();
		await setup.opened.start();
		await listening.said(/Ctrl-C ends this/);
		doesNotMatch(listening.stderr, /lost|Connected again/);
		equal(listening.stderr.match(/Cannot connect yet/g)?.length, 1, "said once");
	});

	for (const [name, args] of [
		["listen", ["listen", "--to", "http://localhost:3000/postback"]],
		["trigger", ["trigger", "conversion.approved"]],
	] as const) {
		test(`${name}: a refusal names the setting that caused it, and an unreachable address is named`, async (t) => {
			const setup = await openListenSetup(t);
			const other = await serve(t, (_, answer) => answer.end("<html>"));
			for (const [settings, sentence] of [
				[{ RINGBACK_SIGNING_SECRET: "rbs_wrong" }, /^Check RINGBACK_SIGNING_SECRET\. .*does not match/m],
				[{ RINGBACK_API_KEY: "rbk_wrong" }, /^Check RINGBACK_API_KEY\. This API key is not known here\./m],
				[{ RINGBACK_BRAND: "Acme" }, /set RINGBACK_BRAND to it\. .*X-Service-Timestamp is missing/m],
				[
					{ RINGBACK_URL: "http://127.0.0.1:2" },
					/^Nothing answers at http:\/\/127\.0\.0\.1:2 \(.*ECONNREFUSED.*\)\. Check RINGBACK_URL or --url, and that the service runs\.$/m,
				],
				[
					{ RINGBACK_URL: new URL(other).origin },
					/^http:\/\/127\.0\.0\.1:\d+ does not answer as Ringback does: .*Check RINGBACK_URL or --url\.$/m,
				],
			] as const) {
				const ended = await setup.run(args, settings);
				deepEqual([ended.code, ended.stdout, hasStack(ended)], [1, "", false], ended.stderr);
				match(ended.stderr, sentence);
				const [, wrong = ""] = Object.entries(settings)[0] ?? [];
				if (/^rb[ks]_/.test(wrong)) ok(!ended.stderr.includes(wrong), "no setting is quoted");
			}
		});
	}

	test("trigger checks everything it can before it records, and says which options an event does not take", async (t) => {
		const setup = await openListenSetup(t);
		for (const [args, sentence] of [
			["conversion.rejected --reason NOPE", /^--reason must be one of RETURN, CANCELLED, /],
			[
				"conversion.recorded --reason RETURN",
				/^--reason is for conversion\.rejected and conversion\.reversed/,
			],
			[
				"conversion.approved --reason RETURN",
				/^--reason is for conversion\.rejected and conversion\.reversed/,
			],
			["conversion.approved --from recorded", /^--from is for conversion\.reversed/],
			["conversion.rejected --from approved", /^--from is for conversion\.reversed/],
		] as const) {
			const ended = await setup.run(["trigger", ...args.split(" ")]);
			deepEqual([ended.code, ended.stdout], [2, ""], args);
			match(ended.stderr, sentence, args);
		}
		const found = await setup.client.conversions();
		deepEqual(found.ok ? found.conversions : found, [], "nothing was recorded");
	});

	test("--version prints the version of the package", async (t) => {
		const ended = await openHome(t).startScript("receiver/src/command/main.ts", ["--version"]).ended();
		deepEqual([ended.code, ended.stdout, ended.stderr], [0, `${receiverPackage.version}\n`, ""]);
	});
});

/**
 * Starts an HTTP server on the developer's machine. Resolves to the URL to which `ringback listen` can
 * forward events.
 */
async function serve(t: Cleaning, handler: RequestListener): Promise<string> {
	return `${await startHttpServer(t, handler)}/postback?shop=1`;
}

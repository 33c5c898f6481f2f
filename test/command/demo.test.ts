// Checks the demo like a stranger. Every printed request is verified with the printed secret and node:crypto alone,
// and everything that the demo created is gone when it ends.

import { deepEqual, equal, match, notEqual, ok } from "node:assert/strict";
import { createHash, createHmac } from "node:crypto";
import { once } from "node:events";
import { existsSync, readdirSync } from "node:fs";
import { createServer } from "node:net";
import { after, before, describe, test } from "node:test";
import { type Home, hasStack, openHome } from "../support/command-home.ts";

interface PrintedRequest {
	type: string;
	method: string;
	path: string;
	headers: Record<string, string>;
	bodyBase64: string;
	verified: boolean;
	answered: number;
}

/** A callback to one of the demo's partners. */
interface PartnerRequest {
	type: "partner";
	who: string;
	method: string;
	path: string;
	body: string;
	verified: boolean;
}

interface Printed {
	secret: string;
	requests: PrintedRequest[];
	partnerRequests: PartnerRequest[];
}

type EventBody = Record<string, string | boolean | null>;

describe("npm run demo -- --once --json", () => {
	let printed: Printed = { secret: "", requests: [], partnerRequests: [] };
	before(async () => {
		await takeUsualPort({ after });
		printed = await runDemo(openHome({ after }));
	});

	test("npm run demo prints the secret and then every request, each signed with it, and exits with 0 although port 8080 is taken", () => {
		const { secret, requests } = printed;
		ok(requests.length > 0);
		for (const request of requests) {
			deepEqual([request.type, request.method, request.verified], ["request", "POST", true]);
			match(request.path, /^\/.+\?.+/, "path and query are what is signed");
			equal(request.headers["x-service-signature"], signatureOf(request, secret));
			checkContractShape(request);
		}
		const nonces = new Set(requests.map(({ headers }) => headers["x-service-nonce"]));
		equal(nonces.size, requests.length, "a nonce is used once");
		equal(nonces.has(undefined), false);
	});

	test("the demo's first sale comes from a partner's link and has the partner's commission of ten percent", () => {
		const [first = {}] = printed.requests.map(bodyOf);
		deepEqual([first["orderId"], first["basketValue"], first["commission"]], ["1001", "129.90", "12.99"]);
	});

	test("the blog's JSON program and the tracker are told of each step of their sales, with what a refund left", () => {
		const told = (name: string) => printed.partnerRequests.filter(({ who }) => who === name);
		ok(printed.partnerRequests.every(({ verified }) => verified));
		deepEqual(
			told("tracker").map(({ method, path }) => `${method} ${path}`),
			[
				["31.03", "RECORDED", ""],
				["20.00", "APPROVED", ""],
				["20.00", "REVERSED", "RETURN"],
			].map(
				([payout, status, reason]) =>
					`GET /tracker/postback?cid=campaign-7&payout=${payout}&status=${status}&reason=${reason}`,
			),
		);
		const events = told("blog").map(({ method, body }) => ({ method, ...JSON.parse(body) }));
		deepEqual(
			events.map(({ method, event, sub1, test: isTest }) => [method, event, sub1, isTest]),
			[
				["POST", "conversion.recorded", "newsletter", false],
				["POST", "conversion.approved", "newsletter", false],
				["POST", "conversion.recorded", "newsletter", false],
				["POST", "conversion.rejected", "newsletter", false],
				["POST", "conversion.recorded", "newsletter", true],
				["POST", "conversion.recorded", "newsletter", false],
			],
		);
		ok(
			events.every((event) => !("orderId" in event)),
			"a partner sees no order",
		);
	});

	test("the demo shows all four events, a test conversion, and a failure with its retry", () => {
		const shown = printed.requests.map((request) => ({ ...request, body: bodyOf(request) }));
		deepEqual([...new Set(shown.map(({ body }) => body["event"]))].toSorted(), [
			"conversion.approved",
			"conversion.recorded",
			"conversion.rejected",
			"conversion.reversed",
		]);
		ok(shown.some(({ body }) => body["test"] === true));
		ok(shown.some(({ body }) => body["test"] === false));
		for (const { body } of shown) {
			const isGivenUp = body["status"] === "REJECTED" || body["status"] === "REVERSED";
			equal(body["reason"] !== null, isGivenUp, "a reason for rejections and reversals, for nothing else");
		}
		const failures = shown.filter(({ answered }) => answered !== 204);
		deepEqual(
			failures.map(({ answered }) => answered),
			[503],
		);
		const [first, retry, ...more] = shown.filter(
			({ body }) => body["orderId"] === failures[0]?.body["orderId"],
		);
		ok(first !== undefined && retry !== undefined && more.length === 0, "one failure, one retry");
		deepEqual([first.answered, retry.answered], [503, 204]);
		deepEqual({ ...retry.body, sentAt: "" }, { ...first.body, sentAt: "" }, "the same event");
		notEqual(retry.body["sentAt"], first.body["sentAt"]);
		for (const name of ["x-service-nonce", "x-service-timestamp", "x-service-signature"]) {
			notEqual(retry.headers[name], first.headers[name], `${name} is fresh`);
		}
		ok(Number(retry.headers["x-service-timestamp"]) - Number(first.headers["x-service-timestamp"]) >= 60);
	});
});

describe("npm run demo", { concurrency: 2 }, () => {
	test("npm run demo shows its steps, runs until Ctrl-C, then exits with 0 and leaves nothing behind", async (t) => {
		const home = openHome(t);
		const demo = home.startScript("demo/main.ts", []);
		const [, path = ""] = await demo.said(/^ {2}(\S+\.db) {3}the database/m);
		match(demo.stdout, /signing secret \(shown once\): rbs_[0-9a-f]+/);
		match(demo.stdout, /signature verified, the shop answered 204/);
		equal(demo.stdout.includes("REFUSED"), false);
		const [, url = ""] = /^Ringback listens on (\S+),/m.exec(demo.stdout) ?? [];
		equal((await fetch(url)).status, 200);
		const [, metricsUrl = ""] = /^ {2}(\S+\/metrics) {3}attempts/m.exec(demo.stdout) ?? [];
		match(await (await fetch(metricsUrl)).text(), /ringback_attempts_total/);
		await buyByLink(/^ {2}(\S+) {3}a partner's link/m.exec(demo.stdout)?.[1] ?? "");
		equal(demo.isRunning, true);
		equal(existsSync(path), true);
		demo.kill("SIGINT");
		const ended = await demo.ended();
		deepEqual([ended.code, ended.stderr], [0, ""]);
		deepEqual(readdirSync(home.folder), []);
	});

	test("npm run demo cleans up after Ctrl-C in the middle of its steps", async (t) => {
		const home = openHome(t);
		const demo = home.startScript("demo/main.ts", []);
		await demo.said(/^Order 1001 is sold/m);
		demo.kill("SIGINT");
		const ended = await demo.ended();
		equal(ended.code, 0);
		equal(hasStack(ended), false, ended.stderr);
		deepEqual(readdirSync(home.folder), []);
	});
});

/** Buys like a browser, from the click to the sale. The same page also sells to visitors without a partner. */
async function buyByLink(link: string): Promise<void> {
	const landed = await fetch(link, { headers: { "user-agent": "Mozilla/5.0 Firefox/150.0" } });
	match(landed.url, /^http:\/\/localhost:\d+\/\?rbclick=[\w-]+$/);
	const [cookie = ""] = landed.headers.getSetCookie();
	match(cookie, /; HttpOnly/);
	equal((await fetch(new URL("/c/nobodys", landed.url))).status, 404);
	for (const [headers, credit] of [
		[{ cookie: cookie.replace(/;.*/, "") }, "CLICK"],
		[{}, "NO_SIGNAL"],
	] as const) {
		const sold = await fetch(new URL("/", landed.url), { method: "POST", headers });
		match(await sold.text(), new RegExp(`RECORDED, credit ${credit}\\.`));
	}
}

async function runDemo(home: Home): Promise<Printed> {
	const ended = await home.startScript("demo/main.ts", ["--once", "--json"]).ended();
	deepEqual([ended.code, ended.stderr], [0, ""], ended.stderr);
	deepEqual(readdirSync(home.folder), [], "nothing is left behind");
	const [first, ...rest] = ended.stdout
		.trimEnd()
		.split("\n")
		.map((line) => JSON.parse(line) as unknown);
	const { type, secret } = first as { type: string; secret: string };
	equal(type, "secret");
	const isPartners = (line: unknown): line is PartnerRequest => (line as { type: string }).type === "partner";
	return {
		secret,
		requests: rest.filter((line) => !isPartners(line)) as PrintedRequest[],
		partnerRequests: rest.filter(isPartners),
	};
}

function bodyOf({ bodyBase64 }: PrintedRequest): EventBody {
	return JSON.parse(Buffer.from(bodyBase64, "base64").toString("utf8")) as EventBody;
}

/** Computes the signature from the words of contract section 5 alone. */
function signatureOf({ method, path, headers, bodyBase64 }: PrintedRequest, secret: string): string {
	const digest = createHash("sha256").update(Buffer.from(bodyBase64, "base64")).digest("hex");
	const parts = [method, path, headers["x-service-timestamp"], headers["x-service-nonce"], digest];
	return createHmac("sha256", secret).update(parts.join("\n")).digest("hex");
}

/** Checks the headers and exactly the fourteen fields of contract section 2.1. */
function checkContractShape(request: PrintedRequest): void {
	const { headers } = request;
	const body = bodyOf(request);
	equal(headers["content-type"], "application/json");
	equal(headers["user-agent"], "service-postback/1");
	equal(headers["x-service-event"], body["event"]);
	match(headers["x-service-timestamp"] ?? "", /^\d+$/);
	match(headers["x-service-nonce"] ?? "", /^[0-9a-f]+$/);
	deepEqual(Object.keys(body).toSorted(), [
		"basketValue",
		"commission",
		"conversionId",
		"currency",
		"event",
		"eventType",
		"networkFee",
		"occurredAt",
		"orderId",
		"programId",
		"reason",
		"sentAt",
		"status",
		"test",
	]);
	for (const name of ["basketValue", "commission", "networkFee"]) match(String(body[name]), /^\d+\.\d{2}$/);
	for (const name of ["occurredAt", "sentAt"]) {
		match(String(body[name]), /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
	}
}

/** Occupies the usual port. If another program already uses it, the effect is the same. */
async function takeUsualPort(t: { after(clean: () => unknown): void }): Promise<void> {
	const server = createServer().listen(8080, "127.0.0.1");
	t.after(() => server.close());
	await once(server, "listening").catch(() => undefined);
}

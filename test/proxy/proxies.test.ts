// Tests the service behind the sample settings for nginx, Caddy and HAProxy. Signed calls verify whatever
// their path, query and body contain, the client's address arrives, streams are not delayed, and bodies have
// the intended limits.

import { deepEqual, equal, match } from "node:assert/strict";
import { createHash } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { connect } from "node:http2";
import { request } from "node:https";
import { after, before, describe, type TestContext, test } from "node:test";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { addSamplePartner, SAMPLE_LINK } from "#modules/partners/use-cases/sample.ts";
import { findProgram } from "../support/find-program.ts";
import { startHttpServer } from "../support/http-server.ts";
import { reportNotRun } from "../support/not-run.ts";
import { type OpenedService, openService } from "../support/open-service.ts";
import { expectValue, openAccount, type ShopAccount } from "../support/shop-account.ts";
import { signedRequest } from "../support/signed-request.ts";
import { until } from "../support/until.ts";
import { CLICK_HOST, PROXIES, type ProxyKind, type RunningProxy } from "./proxy-process.ts";

/**
 * Client address of the tests. It differs from the proxy's own address, so that the two can be distinguished.
 */
const CALLER = "127.0.0.5";
const BROWSER = "Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0";
const MEGABYTE = 1024 * 1024;

const MISSING_HAPROXY =
	"the sample settings for haproxy: there is no haproxy (Debian: apt-get install haproxy).";

/** Paths and queries of the test requests, exactly as they are sent. */
const TARGETS = [
	"/v1/conversions?orderId=a+b%2Fc%20d&x=%E2%82%AC",
	"/v1/conversions?",
	"/v1//conversions",
	"//v1/conversions//",
	"/v1/conversions/a%2Fb%2fc",
	"/v1/conversions/%2e%2e/x/./y/../z",
	"/a+b;c=d~e!$&'()*,:@/%20",
	"/a?b=c?d/e&f;g=h&i=%2B+%25&&j",
	"/%E2%82%AC/x?%00",
];

let opened: OpenedService;
let account: ShopAccount;
before(async () => {
	opened = await openService({
		settings: {
			RINGBACK_TRUSTED_PROXIES: "127.0.0.1",
			RINGBACK_ACCESS_LOG: "on",
			PUBLIC_URL: "https://network.example",
			RINGBACK_CLICK_URL: `https://${CLICK_HOST}`,
		},
	});
	const workplace = await opened.openWorkplace();
	account = await openAccount(workplace);
	expectValue(await addSamplePartner(workplace, COMMAND_LINE, account.programme.id));
	await workplace.close();
});
after(() => opened.close());

for (const kind of PROXIES) {
	const isHere = findProgram(kind.name) !== undefined;
	const skip = isHere ? false : reportNotRun(describeMissing(kind));

	describe(`the service behind ${kind.name}`, { skip, concurrency: 2 }, () => {
		test("path, query and body arrive through the proxy byte for byte", async (t) => {
			const recorder = await startRecorder(t);
			const proxy = await kind.start(t, recorder.address);
			for (const target of TARGETS) {
				await call(proxy, { target, body: Buffer.from('{"a": "ü"}\n\n') });
				deepEqual(recorder.last(), { method: "POST", target, sha256: hash('{"a": "ü"}\n\n') });
			}
			const large = Buffer.alloc(10 * MEGABYTE, "Ringback ");
			for (const isChunked of [false, true]) {
				equal((await call(proxy, { target: "/upload", body: large, isChunked })).status, 200);
				equal(recorder.last()?.sha256, hash(large), isChunked ? "in chunks" : "with its length");
			}
			const toImport = Buffer.alloc(20 * MEGABYTE, "line\n");
			equal((await call(proxy, { target: "/import/people", body: toImport })).status, 200);
		});

		test("signed calls verify behind the proxy, the caller's address arrives, and events come at once", async (t) => {
			const proxy = await kind.start(t, new URL(opened.service.url).host);
			const orderId = `${kind.name} a b/c+d?ü`;
			const body = JSON.stringify({ orderId, basketValue: "10.00", currency: "EUR" });
			const stream = await listen(proxy, account);
			const sale = signed(account, "POST", "/v1/conversions", body);
			equal((await call(proxy, { ...sale, isChunked: true })).status, 201);
			await until(() => stream.text().includes("conversion.recorded"));
			stream.end();

			// The same order is written in two ways in a query, and each request is signed as it is written.
			for (const written of ["+a+b%2Fc%2Bd%3F%C3%BC", "%20a%20b/c%2bd?%c3%bc"]) {
				const look = signed(account, "GET", `/v1/conversions?orderId=${kind.name}${written}`);
				const { status, text } = await call(proxy, look);
				equal(status, 200, text);
				match(text, /"status":"RECORDED"/);
			}
			const forged = { ...signed(account, "GET", "/v1/conversions"), forwardedFor: "203.0.113.7" };
			equal((await call(proxy, forged)).status, 200);
			equal(await callOverHttp2(proxy, signed(account, "GET", "/v1/conversions?limit=1")), 200);
			const damaged = signed(account, "GET", "/v1/conversions?limit=1");
			equal((await call(proxy, { ...damaged, target: "/v1/conversions?limit=2" })).status, 401);
			await until(() => addresses().length >= 5);
			deepEqual(new Set(addresses()), new Set([CALLER]), "and nobody can claim another");
			const tooLarge = Buffer.alloc(12 * MEGABYTE);
			const { headers } = signed(account, "POST", "/v1/conversions", "");
			const refused = () =>
				call(proxy, { target: "/v1/conversions", body: tooLarge, headers: headers ?? {} });
			// A client that is still writing when it is refused may be cut off before it reads the answer.
			const answer = await refused().catch(refused).catch(refused);
			equal(answer.status, 413);
		});

		test("a request reaches the service only after its body has arrived at the proxy", async (t) => {
			const recorder = await startRecorder(t);
			const proxy = await kind.start(t, recorder.address);
			// The slow request must be closed before the proxy, because stopping the proxy waits for it.
			using slow = sendPart(proxy, "/slow", 100);
			// After these requests the proxy has received the head of the slow request, which was sent before them.
			for (let n = 0; n < 20; n++) await call(proxy, { target: "/fast", body: Buffer.from("{}") });
			deepEqual(new Set(recorder.begun()), new Set(["/fast"]));
			equal(await slow.finish(), 200);
			equal(recorder.begun().at(-1), "/slow");
		});

		test("each request has an ID, of the caller or of the proxy, which arrives, is answered and is logged without the path", async (t) => {
			const recorder = await startRecorder(t);
			const proxy = await kind.start(t, recorder.address);
			const ids: string[] = [];
			for (const given of [undefined, "bad id!", "a".repeat(65), "shop-4711.A:b_c"]) {
				const headers: Record<string, string> = given === undefined ? {} : { "x-request-id": given };
				const answer = await call(proxy, { target: "/welcome/secret-token?secret=query", headers });
				const id = String(recorder.lastId());
				match(id, /^[\w.:-]{8,64}$/);
				equal(id === given, given?.startsWith("shop") === true);
				equal(answer.headers["x-request-id"], id);
				ids.push(id);
			}
			equal(new Set(ids).size, 4);
			await until(() => ids.every((id) => proxy.log().includes(id)));
			equal(/secret/.test(proxy.log()), false, proxy.log());
			const failed = await call(proxy, { target: GONE, headers: { "x-request-id": "to-the-gone" } });
			deepEqual([failed.status, failed.headers["x-request-id"]], [502, "to-the-gone"]);
			await until(() => proxy.log().includes("to-the-gone"));
		});

		test("pages arrive through the proxy unchanged, and plain HTTP redirects to HTTPS", async (t) => {
			const proxy = await kind.start(t, new URL(opened.service.url).host);
			const page = await call(proxy, { target: "/sign-in", headers: { "accept-encoding": "gzip" } });
			equal(page.status, 200);
			equal(page.headers["content-encoding"], undefined, "nothing secret is compressed");
			equal(page.headers["strict-transport-security"], "max-age=31536000");
			if (proxy.plainUrl === null) return;
			const plain = await fetch(`${proxy.plainUrl}//a%2Fb?c=d`, { method: "POST", redirect: "manual" });
			equal(plain.status, 308);
			equal(plain.headers.get("location"), "https://127.0.0.1//a%2Fb?c=d");
		});

		test("a host for links serves nothing else, and the headers that distinguish a click from a preview arrive", async (t) => {
			const proxy = await kind.start(t, new URL(opened.service.url).host);
			const target = `/c/${SAMPLE_LINK.code}`;
			const led = /^https:\/\/example\.com\/\?rbclick=[\w-]{67}$/;
			for (const [headers, status, location] of [
				[{ "user-agent": BROWSER, "sec-fetch-dest": "document" }, 302, led],
				[{ "user-agent": "Googlebot" }, 302, /^https:\/\/example\.com\/$/],
				[{}, 302, /^https:\/\/example\.com\/$/],
				[{ "user-agent": BROWSER, "sec-fetch-dest": "image" }, 204, /^$/],
				[{ "user-agent": BROWSER, purpose: "prefetch" }, 503, /^$/],
			] as const) {
				const answer = await call(proxy, { target, host: CLICK_HOST, headers });
				equal(answer.status, status);
				match(answer.headers.location ?? "", location);
			}
			for (const [other, status] of [
				["/sign-in", 404],
				["/v1/conversions", 404],
				["/", 404],
				["/healthz", 200],
				["/readyz", 200],
			] as const) {
				equal((await call(proxy, { target: other, host: CLICK_HOST })).status, status, other);
			}
			const onPages = await call(proxy, { target, headers: { "user-agent": BROWSER } });
			match(onPages.headers.location ?? "", led, "links that were given out before");
		});
	});
}

/** Settings of the samples that limit how long an answer to a call may take and how long a stream may be idle. */
const ANSWER_LIMITS = {
	nginx: "proxy_read_timeout 5s;",
	haproxy: "set-timeout server 5s if { path_beg /v1/ /pixel/ /c/ }",
} as const;
const STREAM_LIMITS = {
	nginx: "proxy_read_timeout 60s;",
	haproxy: "set-timeout server 60s if { path /v1/events }",
} as const;

/** The event stream of shops. */
const STREAM = "/v1/events";

for (const kind of PROXIES) {
	const { name } = kind;
	if (name === "caddy") continue;
	const skip = findProgram(name) === undefined && reportNotRun(describeMissing(kind));
	test(`behind ${name} a process that does not answer costs the caller of a call five seconds, and an event stream stays open`, {
		skip,
	}, async (t) => {
		const held: ServerResponse[] = [];
		t.after(() => {
			for (const answer of held) answer.destroy();
		});
		const silent = await startHttpServer(t, (incoming, answer) => {
			if (incoming.url === STREAM) answer.writeHead(200, { "x-accel-buffering": "no" }).write(": open\n\n");
			if (incoming.url === "/readyz") answer.end();
			else held.push(answer);
		});
		// The test shortens the limit for calls from five seconds to one. The sixty seconds of event streams stay.
		const limit = ANSWER_LIMITS[name];
		const proxy = await kind.start(t, new URL(silent).host, [
			[limit, limit.replace("5s", "1s")],
			[STREAM_LIMITS[name], STREAM_LIMITS[name]],
		]);
		const stream = await begin(proxy, { target: STREAM });
		let isClosed = false;
		stream.resume().on("close", () => {
			isClosed = true;
		});
		const calls = ["/v1/conversions", "/pixel/prg_1.gif", "/c/spring"];
		const answers = await Promise.all(calls.map((target) => call(proxy, { target })));
		deepEqual(
			answers.map(({ status }) => status),
			[504, 504, 504],
		);
		equal(isClosed, false);
		stream.destroy();
	});
}

test("HAProxy sends nothing to a process that is not ready, and everything again when it is", {
	skip: findProgram("haproxy") === undefined && reportNotRun(MISSING_HAPROXY),
}, async (t) => {
	const states = [true, true];
	const [first, second] = await Promise.all(
		states.map((_, n) =>
			startHttpServer(t, (incoming, answer) => {
				const status = incoming.url === "/readyz" && states[n] !== true ? 503 : 200;
				answer.writeHead(status, { "x-process": String(n) }).end();
			}),
		),
	);
	const host = (url = "") => new URL(url).host;
	const haproxy = PROXIES.find(({ name }) => name === "haproxy");
	const proxy = await haproxy?.start(t, `${host(first)}\n\tserver second ${host(second)}`);
	if (proxy === undefined) throw new Error("HAProxy is one of the proxies");
	const answering = async () => {
		const seen = new Set<unknown>();
		for (let n = 0; n < 6; n++) {
			const { status, headers } = await call(proxy, { target: "/" });
			seen.add(status === 200 ? headers["x-process"] : status);
		}
		return [...seen].toSorted().join(" ");
	};
	await until(async () => (await answering()) === "0 1");
	states[0] = false;
	await until(async () => (await answering()) === "1");
	states[1] = false;
	await until(async () => (await answering()) === "503");
	states[0] = true;
	await until(async () => (await answering()) === "0");
});

/** Returns the client addresses that the service has seen. */
function addresses(): unknown[] {
	const requests = opened.log.lines.filter(({ message }) => message === "request");
	return requests.map(({ fields }) => ("address" in fields ? fields.address : null));
}

function describeMissing({ name, packageName }: ProxyKind): string {
	return `the sample settings for ${name}: there is no ${name} (Debian: apt-get install ${packageName}).`;
}

interface Sent {
	target: string;
	method?: string;
	body?: Uint8Array;
	headers?: Readonly<Record<string, string>>;
	/** Host name of the proxy, instead of its address. */
	host?: string;
	/** True if the body is sent in chunks, without its length. */
	isChunked?: boolean;
	forwardedFor?: string;
}

function signed(account: ShopAccount, method: "GET" | "POST", target: string, body?: string): Sent {
	const credentials = { key: account.apiKey, secret: account.secret };
	const { headers } = signedRequest(method, target, credentials, { body, nowMs: Date.now() });
	const sent = { method, target, headers: Object.fromEntries(headers) };
	return body === undefined ? sent : { ...sent, body: Buffer.from(body) };
}

interface Answer {
	status: number | undefined;
	headers: IncomingMessage["headers"];
	text: string;
}

async function call(proxy: RunningProxy, sent: Sent): Promise<Answer> {
	const answer = await begin(proxy, sent);
	const chunks: Uint8Array[] = [];
	for await (const chunk of answer) chunks.push(chunk);
	return { status: answer.statusCode, headers: answer.headers, text: Buffer.concat(chunks).toString() };
}

async function begin(proxy: RunningProxy, sent: Sent): Promise<IncomingMessage> {
	const { target, body, headers = {}, host, isChunked = false, forwardedFor } = sent;
	const { hostname, port } = new URL(proxy.url);
	const outgoing = request({
		method: sent.method ?? (body === undefined ? "GET" : "POST"),
		hostname,
		port,
		path: target,
		ca: proxy.caPem,
		localAddress: CALLER,
		agent: false,
		...(host === undefined ? {} : { servername: host }),
		headers: {
			...headers,
			...(host === undefined ? {} : { host }),
			...(forwardedFor === undefined ? {} : { "x-forwarded-for": forwardedFor }),
			...(body === undefined || isChunked ? {} : { "content-length": body.length }),
		},
	});
	const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
	// A proxy that refuses a body answers before it has read all of it, and closes the connection.
	outgoing.on("error", () => undefined);
	const half = (body?.length ?? 0) >> 1;
	if (body !== undefined && isChunked) outgoing.write(body.subarray(0, half));
	outgoing.end(body === undefined ? undefined : isChunked ? body.subarray(half) : body);
	const [answer] = await answered;
	return answer;
}

/** Sends a request without the last byte of its body. */
function sendPart(
	proxy: RunningProxy,
	target: string,
	bytes: number,
): Disposable & { finish(): Promise<number | undefined> } {
	const { hostname, port } = new URL(proxy.url);
	const outgoing = request({
		method: "POST",
		hostname,
		port,
		path: target,
		ca: proxy.caPem,
		agent: false,
		headers: { "content-length": bytes },
	});
	outgoing.on("error", () => undefined);
	outgoing.write(Buffer.alloc(bytes - 1));
	return {
		async finish() {
			const answered = once(outgoing, "response") as Promise<[IncomingMessage]>;
			outgoing.end(Buffer.alloc(1));
			const [answer] = await answered;
			answer.resume();
			return answer.statusCode;
		},
		[Symbol.dispose]: () => void outgoing.destroy(),
	};
}

async function listen(proxy: RunningProxy, account: ShopAccount): Promise<{ text(): string; end(): void }> {
	const answer = await begin(proxy, signed(account, "GET", "/v1/events"));
	equal(answer.statusCode, 200);
	let text = "";
	answer.setEncoding("utf8").on("data", (chunk: string) => {
		text += chunk;
	});
	answer.on("error", () => undefined);
	return { text: () => text, end: () => answer.destroy() };
}

async function callOverHttp2(proxy: RunningProxy, { target, headers = {} }: Sent): Promise<number> {
	// The options go to the TLS socket, because HTTP/2 itself has no option for the local address.
	const options = { ca: proxy.caPem, localAddress: CALLER };
	const session = connect(proxy.url, options);
	const stream = session.request({ ...headers, ":path": target });
	const [answer] = await once(stream, "response");
	stream.resume();
	await once(stream, "end");
	session.close();
	return answer[":status"];
}

/** Path at which the recorder closes the connection without an answer, so that the proxy answers itself. */
const GONE = "/gone";

/** Starts a server in place of the service, and records what arrives of each request. */
async function startRecorder(t: TestContext) {
	const seen: { method: string | undefined; target: string | undefined; sha256: string }[] = [];
	const begun: (string | undefined)[] = [];
	let lastId: string | string[] | undefined;
	const url = await startHttpServer(t, async (incoming, answer) => {
		// Readiness checks of HAProxy come every second, also between a call and the look at what arrived.
		if (incoming.url === "/readyz") return void answer.end();
		begun.push(incoming.url);
		if (incoming.url === GONE) return void incoming.socket.destroy();
		lastId = incoming.headers["x-request-id"];
		const digest = createHash("sha256");
		for await (const chunk of incoming) digest.update(chunk);
		seen.push({ method: incoming.method, target: incoming.url, sha256: digest.digest("hex") });
		// Like Ringback, this server answers with the ID.
		if (typeof lastId === "string") answer.setHeader("x-request-id", lastId);
		answer.end();
	});
	/** `begun` returns the targets of all requests whose head has arrived. */
	return { address: new URL(url).host, last: () => seen.at(-1), begun: () => begun, lastId: () => lastId };
}

function hash(bytes: string | Uint8Array): string {
	return createHash("sha256").update(bytes).digest("hex");
}

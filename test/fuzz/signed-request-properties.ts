// Properties of signed requests. The service accepts requests that a shop signs according to the contract,
// and refuses every request that was changed on the way or arrives a second time. A refusal is a problem with
// a code, and stores nothing.

import { deepEqual, equal, notDeepEqual, ok } from "node:assert/strict";
import fc from "fast-check";
import { makeShop } from "#core/api/test-shop.test-support.ts";
import { signedRequest } from "../support/signed-request.ts";
import type { FuzzProperty } from "./fuzz-property.ts";
import { type FuzzService, openFuzzService, readAnswer } from "./fuzz-service.ts";
import { anyRequestChange, type HeaderTampering, type RequestChange } from "./request-change.ts";
import { tamperBytes, tamperText } from "./tampering.ts";
import { toRequest, type WireRequest } from "./wire-request.ts";

const SIGNED_HEADERS = [
	"authorization",
	"x-service-timestamp",
	"x-service-nonce",
	"x-service-signature",
] as const;
type SignedHeader = (typeof SIGNED_HEADERS)[number];

const CHANGED_PARTS = ["body", "target", "secret"] as const;

type Change =
	| RequestChange<(typeof CHANGED_PARTS)[number], SignedHeader>
	| { part: "method"; method: string }
	| { part: "sent again" | "another shop's secret" };

const ANY_CHANGE: fc.Arbitrary<Change> = fc.oneof(
	{ weight: 3, arbitrary: anyRequestChange(CHANGED_PARTS, SIGNED_HEADERS, "x-service-signature") },
	fc.record({
		part: fc.constant("method" as const),
		method: fc.constantFrom("GET", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"),
	}),
	fc.record({ part: fc.constantFrom("sent again" as const, "another shop's secret" as const) }),
);

interface Sale {
	orderId: string;
	query: string;
	nonce: string;
}

const ANY_SALE: fc.Arbitrary<Sale> = fc.record({
	orderId: fc.uuid(),
	query: fc.stringMatching(/^(?:\?[a-z0-9=&%._~-]{0,20})?$/),
	nonce: fc.stringMatching(/^[0-9A-Za-z_-]{8,128}$/),
});

const CHANGED: FuzzProperty = {
	name: "a signed request is accepted once, and refused if anything in it was changed",
	kinds: ["taken", "refused", "no request at all"],
	share: 0.5,
	async open({ seed, meet }) {
		const service = await openFuzzService(seed);
		const other = await makeShop(service.deps);
		const property = fc.asyncProperty(ANY_SALE, ANY_CHANGE, async (sale, change) => {
			const before = await service.stored();
			const genuine = await signSale(service, sale, service.credentials.secret);
			const changed = await changeRequest(service, sale, genuine, change, other.credentials.secret);
			const request = changed === undefined ? undefined : toRequest(changed);
			const isReplay = change.part === "sent again";
			if (changed !== undefined && request !== undefined && (isReplay || !isSame(genuine, changed))) {
				if (isReplay) await take(service, genuine, sale);
				const stored = await service.stored();
				const response = await service.fetch(request, changed.target);
				// A target that was cut down to "/" leads to the pages, which refuse the request with a page.
				const isForPages = /^\/(?:[?#]|$)/.test(changed.target);
				if (changed.method === "HEAD" || isForPages) ok(response.status >= 400 && response.status < 500);
				else ok((await readAnswer(response)).status >= 400, "it was taken");
				deepEqual(await service.stored(), stored, "a refusal stores nothing");
				meet("refused");
			} else meet("no request at all");
			// The unchanged request is accepted, which proves that only the change caused the refusal.
			if (isReplay) return;
			await take(service, genuine, sale);
			notDeepEqual(await service.stored(), before);
			meet("taken");
		});
		return { property, close: service.close };
	},
};

async function take(service: FuzzService, wire: WireRequest, sale: Sale): Promise<void> {
	const request = toRequest(wire);
	ok(request !== undefined);
	const answer = await readAnswer(await service.fetch(request, wire.target));
	equal(answer.status, 201, JSON.stringify([answer, sale]));
}

async function signSale(service: FuzzService, sale: Sale, secret: string): Promise<WireRequest> {
	const { orderId, query } = sale;
	const order = service.nextOrder();
	const target = `/v1/conversions${query}`;
	const request = signedRequest(
		"POST",
		target,
		{ ...service.credentials, secret },
		{
			body: { orderId: `${orderId}-${order}`, basketValue: "10.00", eventType: "SALE" },
			nonce: `${sale.nonce.slice(0, 100)}-${order}`,
			nowMs: service.nowMs(),
		},
	);
	return readWire(request, target);
}

async function readWire(request: Request, target: string): Promise<WireRequest> {
	const body = Buffer.from(await request.arrayBuffer());
	return { method: request.method, target, headers: request.headers, body };
}

async function changeRequest(
	service: FuzzService,
	sale: Sale,
	genuine: WireRequest,
	change: Change,
	otherSecret: string,
): Promise<WireRequest | undefined> {
	switch (change.part) {
		case "body":
			return { ...genuine, body: tamperBytes(genuine.body, change.tampering) };
		case "target":
			return { ...genuine, target: tamperText(genuine.target, change.tampering) };
		case "header":
			return changeHeader(genuine, change.name, change.tampering);
		case "method":
			return { ...genuine, method: change.method };
		case "secret":
			return signSale(service, sale, tamperText(service.credentials.secret, change.tampering));
		case "another shop's secret":
			return signSale(service, sale, otherSecret);
		case "body written anew":
			return { ...genuine, body: Buffer.from(JSON.stringify(JSON.parse(genuine.body.toString()), null, 1)) };
		case "sent again":
			return { ...genuine };
		case "clock": {
			const nowMs = service.nowMs() + change.bySeconds * 1_000;
			return signSale({ ...service, nowMs: () => nowMs }, sale, service.credentials.secret);
		}
		default:
			return change satisfies never;
	}
}

/** Changes a header. Returns undefined if no HTTP parser accepts the result. */
function changeHeader(
	genuine: WireRequest,
	name: SignedHeader,
	tampering: HeaderTampering,
): WireRequest | undefined {
	const headers = new Headers(genuine.headers);
	// The word before the key is not secret, so its letter case and the spaces after it may differ.
	const [, scheme = "", value = ""] = /^(Bearer )?(.*)$/.exec(headers.get(name) ?? "") ?? [];
	switch (tampering) {
		case "drop":
			headers.delete(name);
			break;
		case "empty":
			headers.set(name, "");
			break;
		case "send twice":
			headers.append(name, scheme + value);
			break;
		default: {
			const changed = tamperText(value, tampering);
			if (/[^\x20-\x7e\x80-\xff]/.test(changed)) return undefined;
			headers.set(name, scheme + changed);
		}
	}
	return { ...genuine, headers };
}

/**
 * Returns true for changes that the service must accept: the letter case of the signature, and any number of
 * spaces before a key.
 */
function isSame(genuine: WireRequest, changed: WireRequest): boolean {
	const plain = ({ method, target, headers, body }: WireRequest) => ({
		method,
		target,
		headers: [...headers].map(([name, value]) => {
			if (name === "x-service-signature") return [name, value.toLowerCase()];
			return [name, name === "authorization" ? value.replace(/^Bearer +/, "Bearer ") : value];
		}),
		body: body.toString("hex"),
	});
	return JSON.stringify(plain(genuine)) === JSON.stringify(plain(changed));
}

export const REQUEST_PROPERTIES: readonly FuzzProperty[] = [CHANGED];

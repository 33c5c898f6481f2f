// The endpoint of all shops and of the partner. It is a real HTTPS server that answers callbacks as planned, verifies
// each with the library that a shop installs, and records the requests for the comparison with the ledger.

import { ok } from "node:assert/strict";
import { verifyPartnerCallback } from "@ringback/receiver";
import type { Certificates } from "../../demo/certificate.ts";
import { checkForm, readCallback } from "../support/callback-form.ts";
import { type ShopAnswer, type ShopRequest, startShop } from "../support/shop.ts";
import type { Manner, PlannedOrder } from "./orders.ts";

export interface Arrival {
	/** Key of the delivery, which ledger.ts defines. */
	key: string;
	nonce: string;
	/** Status of the answer, or null if the shop closed the connection. */
	httpStatus: number | null;
	/** Monotonic time at which the request arrived. */
	atMs: number;
}

export interface ReceivingShop {
	url(shop: number): string;
	/** Callback URL of the partner, whose server always answers well. */
	readonly partnerUrl: string;
	readonly caPem: string;
	readonly arrivals: readonly Arrival[];
	/** Maximum number of unanswered requests that one shop had at the same time. */
	readonly mostAtOnce: number;
	/**
	 * Signing secrets by programme, and that of the partner as PARTNER_SECRET. They are added after the shop was started,
	 * because an account needs the shop's URL first.
	 */
	readonly secrets: Map<string, string>;
	/**
	 * Resolves when all requests so far have been verified. Rejects with the first one that cannot be verified.
	 */
	checked(): Promise<void>;
	close(): Promise<void>;
}

export interface ReceivingShopOptions {
	orders: readonly PlannedOrder[];
	certificates: Certificates;
	onArrival: (key: string) => void;
}

const BRAND = "Service";
/** Name of the partner's secret among those of the programmes. */
export const PARTNER_SECRET = "partner";
/**
 * Maximum difference between the clocks. The services use the database's time, and each knows it only as
 * exactly as its query was fast.
 */
const CLOCKS_APART_MS = 1_000;

const PARTNER_PATH = "/partner";

/** Returns the key of a delivery to the partner. The shop's delivery of the same event has another key. */
export function partnerKey(key: string): string {
	return `partner ${key}`;
}

export async function openReceivingShop(options: ReceivingShopOptions): Promise<ReceivingShop> {
	const orders = new Map(options.orders.map((order) => [order.orderId, order]));
	const arrivals: Arrival[] = [];
	const seen = new Map<string, number>();
	let checks: Promise<unknown> = Promise.resolve();
	let firstFailure: unknown;
	const open = new Map<string, number>();
	let mostAtOnce = 0;

	/**
	 * Counts a request as open for the given time. It must be called before the answer is scheduled, because
	 * among timers for the same time the older one fires first.
	 */
	function countOpen(programId: string, ms: number): void {
		const count = (open.get(programId) ?? 0) + 1;
		open.set(programId, count);
		mostAtOnce = Math.max(mostAtOnce, count);
		setTimeout(() => open.set(programId, (open.get(programId) ?? 0) - 1), ms);
	}

	function takeForPartner(request: ShopRequest): ShopAnswer {
		const { body, headers } = readCallback(request);
		const key = partnerKey(`${body.conversionId} ${body.event}`);
		const nonce = headers.get(`X-${BRAND}-Nonce`) ?? "";
		arrivals.push({ key, nonce, httpStatus: 204, atMs: performance.now() });
		const verifying = verifyPartnerCallback({
			...{ method: "POST", path: request.path, headers: Object.fromEntries(headers), rawBody: request.body },
			...{ secret: shop.secrets.get(PARTNER_SECRET), now: Date.now(), brand: BRAND },
		}).then((verified) => ok(verified.ok, JSON.stringify(verified)));
		checks = Promise.all([checks, verifying]).catch((error: unknown) => {
			firstFailure ??= error;
		});
		options.onArrival(key);
		return { status: 204 };
	}

	function take(request: ShopRequest): ShopAnswer {
		if (request.path === PARTNER_PATH) return takeForPartner(request);
		const callback = readCallback(request);
		const { conversionId, event, orderId, programId } = callback.body;
		const key = `${conversionId} ${event}`;
		const order = orders.get(String(orderId));
		const nth = (seen.get(key) ?? 0) + 1;
		seen.set(key, nth);
		const manner: Manner | undefined = nth === 1 ? order?.firstManner : order?.laterManner;
		const httpStatus = manner?.kind === "answers" ? manner.httpStatus : null;
		const nonce = callback.headers.get(`X-${BRAND}-Nonce`) ?? "";
		arrivals.push({ key, nonce, httpStatus, atMs: performance.now() });
		const secret = shop.secrets.get(String(programId)) ?? "";
		const serviceNowMs = Date.now() + CLOCKS_APART_MS;
		const received = { ...callback, serviceNowMs, secret, answered: httpStatus };
		checks = Promise.all([checks, checkForm(received, BRAND)]).catch((error: unknown) => {
			firstFailure ??= error;
		});
		options.onArrival(key);
		if (manner === undefined) throw new Error(`a callback for an order nobody reported: ${orderId}`);
		if (manner.kind === "answers") countOpen(String(programId), manner.delayMs);
		return answerIn(manner);
	}

	const server = await startShop({ certificates: options.certificates, answer: take });
	const shop: ReceivingShop = {
		url: (shop) => server.url(`/postback?shop=${shop}`),
		partnerUrl: server.url(PARTNER_PATH),
		caPem: server.caPem,
		arrivals,
		get mostAtOnce() {
			return mostAtOnce;
		},
		secrets: new Map(),
		async checked() {
			await checks;
			if (firstFailure !== undefined) throw firstFailure;
		},
		close: () => server.close(),
	};
	return shop;
}

function answerIn(manner: Manner): ShopAnswer {
	switch (manner.kind) {
		case "answers":
			return { status: manner.httpStatus, delayMs: manner.delayMs };
		case "hangs up":
			return { raw: (socket) => socket.destroy() };
		default:
			return manner satisfies never;
	}
}

// Provides a programme as its shop sees it. The shop sends signed reports and decisions, receives callbacks, and reads
// its deliveries. For actions of an owner on the integration page, the use case of that page is called directly.

import type { Selectable } from "kysely";
import { decideConversion } from "#core/conversions/decide.ts";
import { recordConversion } from "#core/conversions/record.ts";
import type { Reason } from "#core/domain/conversion.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { judgeResult, type Verdict } from "#core/domain/verdict.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { issueKey } from "#core/programmes/keys.ts";
import { removePostbackUrl, savePostbackUrl } from "#core/programmes/postback-url.ts";
import { findProgramme, type Programme } from "#core/store/queries/programmes.ts";
import type { AttemptsTable, DeliveriesView } from "#core/store/tables/deliveries.ts";
import type { NoticesTable } from "#core/store/tables/notices.ts";
import type { Service } from "../../src/service.ts";
import type { ReceivedCallback } from "./callback-form.ts";
import type { MovableClock } from "./clock.ts";
import { replaceSecret } from "./replace-secret.ts";
import { findConversion } from "./rows.ts";
import type { AnswerRequest, Shop } from "./shop.ts";
import { addProgrammeOf, expectValue, type ProgrammeTerms } from "./shop-account.ts";
import { type CallOptions, signedRequest } from "./signed-request.ts";
import type { Condition } from "./until.ts";

export interface ServiceAtHand {
	readonly service: Service;
	readonly clock: MovableClock;
	/** Shop to which callbacks go by default. */
	readonly shop: Shop;
	readonly brand: string;
	/** All requests that any shop received, in the order of arrival. */
	readonly received: readonly ReceivedCallback[];
	until(what: string, condition: Condition, tickMs?: number): Promise<void>;
}

export interface ProgrammeOptions extends ProgrammeTerms {
	/** The Postback URL, or null for a programme without one. */
	url?: string | null;
	/** False for a programme without an API key, which has no secret either. */
	hasKey?: boolean;
}

/**
 * Parts of the API's answers that tests read. An answer is an outcome with its conversion, or a problem with its code.
 */
export interface ApiJson {
	outcome?: string;
	code?: string;
	conversion?: {
		id: string;
		status: string;
		basketValue: string;
		commission: string;
		reason: string | null;
		source: string;
		pixelBasketValue: string | null;
		decidedBy: string | null;
		occurredAt: string;
		createdAt: string;
		approvesAt: string | null;
	};
}

export interface ApiAnswer {
	status: number;
	json: ApiJson;
}

export interface DeliveryRow extends Selectable<DeliveriesView> {
	body: string;
	/** Verdict on the newest attempt, as the delivery's page shows it. Null if there was no attempt. */
	last_verdict: Verdict | null;
}
export type AttemptRow = Selectable<AttemptsTable>;

/** Default path of the Postback URL. It has a query, because the signature also covers the query. */
export const DEFAULT_PATH = "/postback?shop=1";

export class ShopProgramme {
	readonly id: number;
	readonly receiver_id: ReceiverId;
	readonly programId: string;
	/** Current API key, or empty if there is none. */
	key = "";
	/** Current signing secret, or empty if there is none. */
	secret = "";
	/** Returns the shop's answer to a callback of this programme. */
	answer: AnswerRequest = () => ({ status: 204 });
	readonly #running: ServiceAtHand;

	constructor(running: ServiceAtHand, { id, receiver_id, public_id }: Programme) {
		this.#running = running;
		this.id = id;
		this.receiver_id = receiver_id;
		this.programId = public_id;
	}

	get received(): readonly ReceivedCallback[] {
		return this.#running.received.filter(({ body }) => body.programId === this.programId);
	}

	/** Names of the received events, in the order of arrival. */
	get events(): readonly unknown[] {
		return this.received.map(({ body }) => body.event);
	}

	async call(method: string, target: string, options: Partial<CallOptions> = {}): Promise<ApiAnswer> {
		const { service, clock, brand } = this.#running;
		const signed = signedRequest(method, target, this, { nowMs: clock.nowMs(), brand, ...options });
		// Each request uses a new connection, because the service may close an idle connection just when a slow
		// machine uses it again.
		signed.headers.set("connection", "close");
		const init = method === "GET" ? {} : { body: await signed.arrayBuffer() };
		const response = await fetch(service.url + target, { method, headers: signed.headers, ...init });
		const text = await response.text();
		return { status: response.status, json: text === "" ? {} : JSON.parse(text) };
	}

	/** Sends a request and fails if it is refused. */
	async post(target: string, body: object): Promise<ApiJson> {
		const { status, json } = await this.call("POST", target, { body });
		if (status >= 300) throw new Error(`${target} answered ${status}: ${JSON.stringify(json)}`);
		return json;
	}

	record(orderId: string, more: object = {}): Promise<ApiJson> {
		return this.post("/v1/conversions", { orderId, basketValue: "100.00", ...more });
	}

	approve(orderId: string): Promise<ApiJson> {
		return this.post("/v1/approvals", { orderId });
	}

	reject(orderId: string, reason: string): Promise<ApiJson> {
		return this.post("/v1/rejections", { orderId, reason });
	}

	reverse(orderId: string, reason: string): Promise<ApiJson> {
		return this.post("/v1/reversals", { orderId, reason });
	}

	/** Calls the pixel like a browser on the shop's thank-you page. */
	async pixel(orderId: string, basketValue = "100.00"): Promise<void> {
		const query = new URLSearchParams({ orderId, basketValue });
		const url = `${this.#running.service.url}/pixel/${this.programId}.gif?${query}`;
		const response = await fetch(url, { headers: { connection: "close" } });
		await response.arrayBuffer();
	}

	/** Sends a test conversion, like the button on the page. */
	async sendTestConversion(orderId: string): Promise<void> {
		const { service } = this.#running;
		const { owed } = await service.store.transact(async (trx) => {
			const programme = await findProgramme(trx, this.programId);
			if (programme === undefined) throw new Error(`there is no programme ${this.programId}`);
			const sale = { orderId, eventType: "SALE", basketValue: "1.00", occurredAtMs: null } as const;
			const report = { ...sale, source: "test", isTest: true } as const;
			return expectValue(await recordConversion(trx, service, programme, report));
		});
		service.store.announceDue(owed);
	}

	/** Rejects a conversion, like the review team on its page. */
	async rejectByReview(orderId: string, reason: Reason): Promise<void> {
		const { service } = this.#running;
		const { owed } = await service.store.transact(async (trx) => {
			const found = await findConversion(trx, this.id, orderId);
			if (found === undefined) throw new Error(`there is no order ${orderId}`);
			return expectValue(
				await decideConversion(trx, service, found, { move: "reject", decidedBy: "review", reason }),
			);
		});
		service.store.announceDue(owed);
	}

	async saveUrl(url: string): Promise<void> {
		expectValue(await savePostbackUrl(this.#running.service, this.programId, url, COMMAND_LINE));
	}

	/** Removes the Postback URL. Resolves to the number of cancelled deliveries. */
	async removeUrl(): Promise<number> {
		return expectValue(await removePostbackUrl(this.#running.service, this.programId, COMMAND_LINE)).count;
	}

	/** Issues an API key. Resolves to the secret that comes with the first key, or to null for a later key. */
	async issueKey(): Promise<string | null> {
		const { key, secret } = expectValue(await issueKey(this.#running.service, this.programId, COMMAND_LINE));
		this.key = key;
		this.secret = secret ?? this.secret;
		return secret;
	}

	async replaceSecret(): Promise<void> {
		this.secret = expectValue(await replaceSecret(this.#running.service, this.programId));
	}

	/**
	 * Waits until every due callback has been sent and its result is stored. After that, all rows in the queue are due
	 * later.
	 */
	async settled(): Promise<void> {
		const { service, clock } = this.#running;
		const busy = () =>
			service.store.db
				.selectFrom("queue")
				.select("id")
				.where("receiver_id", "=", this.receiver_id)
				.where("due_at_ms", "<=", clock.nowMs())
				.executeTakeFirst();
		const isSettled = async () => (await busy()) === undefined;
		await this.#running.until(`everything due of ${this.programId} is sent`, isSettled);
	}

	/** Returns the time of the next retry. Fails if no delivery is pending. */
	async nextDueAtMs(): Promise<number> {
		const { dueAtMs } = await this.#running.service.store.db
			.selectFrom("queue")
			.select((eb) => eb.fn.min("due_at_ms").as("dueAtMs"))
			.where("receiver_id", "=", this.receiver_id)
			.executeTakeFirstOrThrow();
		if (dueAtMs === null) throw new Error(`nothing of ${this.programId} waits to be sent`);
		return dueAtMs;
	}

	/** Moves the clock to the next retry and waits until its result is stored. */
	async retryNow(): Promise<void> {
		await this.#running.clock.moveTo(await this.nextDueAtMs());
		await this.settled();
	}

	async deliveries(): Promise<DeliveryRow[]> {
		const rows = await this.#running.service.store.db
			.selectFrom("deliveries")
			.innerJoin("events", "events.id", "deliveries.id")
			.selectAll("deliveries")
			.select("events.body")
			.where("deliveries.receiver_id", "=", this.receiver_id)
			.orderBy("deliveries.id")
			.execute();
		const attempts = await this.attempts();
		return rows.map((row) => {
			const last = attempts.findLast(({ delivery_id }) => delivery_id === row.id);
			return { ...row, last_verdict: last === undefined ? null : judgeResult(last.result, last.http_status) };
		});
	}

	async attempts(): Promise<AttemptRow[]> {
		return this.#running.service.store.db
			.selectFrom("attempts")
			.innerJoin("deliveries", "deliveries.id", "attempts.delivery_id")
			.selectAll("attempts")
			.where("deliveries.receiver_id", "=", this.receiver_id)
			.orderBy("attempts.delivery_id")
			.orderBy("attempts.seq")
			.execute();
	}

	async notices(): Promise<Selectable<NoticesTable>[]> {
		const { db } = this.#running.service.store;
		return db
			.selectFrom("notices")
			.selectAll()
			.where("receiver_id", "=", this.receiver_id)
			.where("told_at_ms", "is not", null)
			.orderBy("id")
			.execute();
	}
}

export async function openShopProgramme(
	running: ServiceAtHand,
	{ url = running.shop.url(DEFAULT_PATH), hasKey = true, ...terms }: ProgrammeOptions,
): Promise<ShopProgramme> {
	// The approval window is ten years, so that no test moves the clock past its end.
	const row = await addProgrammeOf(running.service, { approvalDays: 3_650, ...terms });
	const programme = new ShopProgramme(running, row);
	if (hasKey) await programme.issueKey();
	if (url !== null) await programme.saveUrl(url);
	return programme;
}

// Provides a partner that gets callbacks, as the partner sees them: a link, a coupon code, a server, and the requests
// that arrived there.

import { deepEqual, equal, ok } from "node:assert/strict";
import { verifyPartnerCallback } from "@ringback/receiver";
import { EVENT_NAMES, type EventName } from "#core/domain/event-name.ts";
import type { Result } from "#core/domain/fault.ts";
import type { CallbackForm, ReceiverId } from "#core/domain/receiver.ts";
import { COMMAND_LINE } from "#core/people/actor.ts";
import { type SavedPartnerUrl, savePartnerUrl } from "#core/programmes/postback-url.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { findPartnerReceiver } from "#core/store/queries/receivers.ts";
import type { Partner } from "#core/store/tables/partners.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { readCallback } from "./callback-form.ts";
import type { RunningService } from "./running-service.ts";
import type { Shop, ShopRequest } from "./shop.ts";
import { expectValue } from "./shop-account.ts";
import type { ShopProgramme } from "./shop-programme.ts";

const BROWSER = { "user-agent": "Mozilla/5.0 (X11; Linux x86_64) Firefox/150.0", connection: "close" };

/** Number of partners so far, which makes their names unique. */
let partners = 0;

export class CalledPartner {
	readonly partner: Partner;
	readonly partnershipId: number;
	readonly server: Shop;
	readonly code: string;
	secret = "";
	readonly #running: RunningService;

	constructor(running: RunningService, server: Shop, rows: { partner: Partner; partnershipId: number }) {
		this.#running = running;
		this.server = server;
		this.partner = rows.partner;
		this.partnershipId = rows.partnershipId;
		this.code = rows.partner.name;
	}

	/** Saves the callback URL. Saving the first URL also creates the secret. */
	async saveUrl(
		path: string,
		form: CallbackForm = "json",
		events: readonly EventName[] = EVENT_NAMES,
	): Promise<void> {
		const { secret } = expectValue(await this.trySaving(this.server.url(path), form, events));
		this.secret = secret ?? this.secret;
	}

	trySaving(
		url: string,
		form: CallbackForm,
		events: readonly EventName[] = EVENT_NAMES,
	): Promise<Result<SavedPartnerUrl>> {
		const { service } = this.#running;
		return savePartnerUrl(service, this.partner.public_id, { url, form, events }, COMMAND_LINE);
	}

	/** Clicks on the partner's link, and returns the click ID with which the visitor reaches the shop. */
	async click(query = ""): Promise<string> {
		const { url } = this.#running.service;
		const answer = await fetch(`${url}/c/${this.code}${query}`, { headers: BROWSER, redirect: "manual" });
		await answer.arrayBuffer();
		const id = new URL(answer.headers.get("location") ?? "").searchParams.get("rbclick");
		ok(id, "the click leads to the shop with a click ID");
		return id;
	}

	async receiverId(): Promise<ReceiverId> {
		const receiver = await findPartnerReceiver(this.#running.service.store.db, this.partner.id);
		ok(receiver);
		return receiver.receiver_id;
	}

	/** Waits until every due callback has been sent to the partner and its result is stored. */
	async settled(): Promise<void> {
		const { service, clock } = this.#running;
		const receiverId = await this.receiverId();
		const due = service.store.db.selectFrom("queue").select("id").where("receiver_id", "=", receiverId);
		const isSettled = async () =>
			(await due.where("due_at_ms", "<=", clock.nowMs()).executeTakeFirst()) === undefined;
		await this.#running.until(`everything due to ${this.code} is sent`, isSettled);
	}

	async deliveries() {
		const { db } = this.#running.service.store;
		const receiverId = await this.receiverId();
		return db
			.selectFrom("deliveries")
			.selectAll()
			.where("receiver_id", "=", receiverId)
			.orderBy("id")
			.execute();
	}

	/**
	 * Returns the fields of all requests that arrived, from the body of a POST or the query of a GET. Each request must
	 * verify with the library that a partner installs.
	 */
	async received(): Promise<Record<string, unknown>[]> {
		const { brand, clock } = this.#running;
		const all: Record<string, unknown>[] = [];
		for (const request of this.server.requests) {
			const fields = fieldsOf(request);
			const headers = headersOf(request);
			const names = Object.keys(headers).filter((name) => name.startsWith("X-"));
			deepEqual(
				names,
				["Event", "Timestamp", "Nonce", "Signature"].map((word) => `X-${brand}-${word}`),
			);
			const { method, path, body: rawBody } = request;
			ok(method === "GET" || method === "POST");
			const now = Math.min(Number(headers[`X-${brand}-Timestamp`]) * 1_000, clock.nowMs());
			const signed = { method, path, headers, rawBody, secret: this.secret, now, brand } as const;
			const verified = await verifyPartnerCallback(signed);
			deepEqual(verified, { ok: true, event: method === "GET" ? null : fields });
			if (method === "GET") equal(rawBody.length, 0);
			all.push(fields);
		}
		return all;
	}

	async events(): Promise<unknown[]> {
		return (await this.received()).map(({ event }) => event);
	}
}

function headersOf({ rawHeaders }: ShopRequest): Record<string, string> {
	const headers: Record<string, string> = {};
	for (let index = 0; index < rawHeaders.length; index += 2) {
		headers[rawHeaders[index] ?? ""] = rawHeaders[index + 1] ?? "";
	}
	return headers;
}

function fieldsOf(request: ShopRequest): Record<string, unknown> {
	if (request.method === "GET")
		return Object.fromEntries(new URL(request.path, "https://p.example").searchParams);
	return { ...readCallback(request).body };
}

/** Adds a partner to a programme, with a link, a coupon code and a server. The programme must credit partners. */
export async function addCalledPartner(
	running: RunningService,
	programme: Pick<ShopProgramme, "id">,
): Promise<CalledPartner> {
	const { db } = running.service.store;
	const name = `partner${++partners}`;
	const idEnd = String(partners).padStart(26, "0");
	const created_at_ms = running.clock.nowMs();
	const partner = await insertPartner(db, { public_id: `ptn_${idEnd}`, name, site: "", created_at_ms });
	const partnership = await insertPartnership(db, {
		public_id: `pts_${idEnd}`,
		programme_id: programme.id,
		partner_id: partner.id,
		commission_rate: "10",
		terms: "",
		created_at_ms,
	});
	const partnershipId = partnership?.id ?? 0;
	const target = "https://shop.example/shoes";
	await insertPartnerLink(db, { code: name, partnership_id: partnershipId, name: "", target, created_at_ms });
	const code = { programme_id: programme.id, folded: name.toUpperCase(), code: name };
	await insertCode(db, { ...code, partnership_id: partnershipId, created_at_ms });
	return new CalledPartner(running, await running.startPartner(), { partner, partnershipId });
}

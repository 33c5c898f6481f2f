// Creates programmes that credit partners. Each has a partner with a link and a coupon code.

import { sql } from "kysely";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import { createKeyRing } from "#core/domain/key-ring.ts";
import { ALL_EVENTS, type ReceiverId } from "#core/domain/receiver.ts";
import { SEALING_IV_BYTES, sealSecret } from "#core/domain/sealing.ts";
import { insertPartner } from "#core/store/queries/partners.ts";
import { insertPartnerReceiver, lockPartnerReceiver, setEndpoint } from "#core/store/queries/receivers.ts";
import { insertSecret } from "#core/store/queries/signing-secrets.ts";
import type { Store } from "#core/store/store.ts";
import { createClickSealer } from "#modules/partners/domain/click-token.ts";
import { foldCode } from "#modules/partners/domain/credit.ts";
import { insertCode } from "#modules/partners/store/coupon-codes.ts";
import { insertPartnerLink } from "#modules/partners/store/partner-links.ts";
import { insertPartnership } from "#modules/partners/store/partnerships.ts";
import { createRandom } from "../src/outside/random.ts";
import { setLandingHosts } from "../test/support/change-rows.ts";
import { BENCH_SEALING_KEY, type SeededShop } from "./seed-shops.ts";

export interface SeededPartner {
	/** Code of the partner's link. */
	code: string;
	/** Fields that the shop's server sends with a sale that this partner brought. */
	fields: { clickId: string; couponCode: string };
}

const random = createRandom();

export function seedPartners(store: Store, shops: readonly SeededShop[]): Promise<SeededPartner[]> {
	const nowMs = Date.now();
	const newId = (kind: "ptn" | "pts"): string => makeId(kind, nowMs, random.bytes(ID_RANDOM_BYTES));
	const sealer = createClickSealer(createKeyRing([BENCH_SEALING_KEY]));
	return store.transact(async (trx) => {
		await trx.updateTable("programmes").set({ credits_partners: 1 }).execute();
		const seeded: SeededPartner[] = [];
		for (const { id: programmeId } of shops) {
			await setLandingHosts(trx, programmeId, [{ host: "shop.example", withSubdomains: false }]);
			const partner = await insertPartner(trx, {
				public_id: newId("ptn"),
				name: "Blog",
				site: "",
				created_at_ms: nowMs,
			});
			const partnership = await insertPartnership(trx, {
				public_id: newId("pts"),
				programme_id: programmeId,
				partner_id: partner.id,
				commission_rate: null,
				terms: "",
				created_at_ms: nowMs,
			});
			if (partnership === undefined) throw new Error("the partnership is there already");
			const sharedFields = { partnership_id: partnership.id, created_at_ms: nowMs };
			const code = random.hex(5);
			const link = await insertPartnerLink(trx, {
				...sharedFields,
				code,
				name: "",
				target: "https://shop.example/shoes",
			});
			if (link === undefined) throw new Error("the code is taken");
			const couponCode = "Summer10";
			await insertCode(trx, {
				...sharedFields,
				programme_id: programmeId,
				code: couponCode,
				folded: foldCode(couponCode),
			});
			const click = { programmeId, partnershipId: partnership.id, linkId: link.id, atMs: nowMs } as const;
			const clickId = sealer.seal({ ...click, subIds: ["bench", "", ""] }, random.bytes(SEALING_IV_BYTES));
			seeded.push({ code, fields: { clickId, couponCode } });
		}
		return seeded;
	});
}

/**
 * Gives each partner of these shops a callback URL and an active secret, and credits all conversions of the shops to it.
 * Returns the receivers in the order of the partners.
 */
export async function seedCalledPartners(
	store: Store,
	shops: readonly SeededShop[],
	urlOf: (partner: number) => string,
): Promise<ReceiverId[]> {
	await seedPartners(store, shops);
	const nowMs = Date.now();
	const receiverIds = await store.transact(async (trx) => {
		const partners = await trx.selectFrom("partners").select("id").orderBy("id").execute();
		const added: ReceiverId[] = [];
		for (const [number, { id }] of partners.entries()) {
			await insertPartnerReceiver(trx, id);
			const receiver = await lockPartnerReceiver(trx, id);
			if (receiver === undefined) throw new Error("a receiver was not stored");
			const { receiver_id } = receiver;
			await setEndpoint(trx, receiver, { url: urlOf(number), form: "json", events: ALL_EVENTS }, nowMs);
			const secret = `rbs_${random.hex(32)}`;
			await insertSecret(trx, {
				public_id: makeId("sec", nowMs, random.bytes(ID_RANDOM_BYTES)),
				receiver_id,
				sealed: sealSecret(BENCH_SEALING_KEY, receiver_id, secret, random.bytes(SEALING_IV_BYTES)),
				hint: "seed",
				created_at_ms: nowMs,
				activated_at_ms: nowMs,
			});
			added.push(receiver_id);
		}
		return added;
	});
	await sql`insert into credits (conversion_id, programme_id, partnership_id, word, sold_at_ms, sub_1, sub_2, sub_3)
		select c.id, c.programme_id, p.id, 'CODE', c.occurred_at_ms, 'bench', '', '' from conversions c
			join partnerships p on p.programme_id = c.programme_id`.execute(store.db);
	return receiverIds;
}

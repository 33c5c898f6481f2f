// Creates programmes with a Postback URL, an active secret and an API key.

import { createHash } from "node:crypto";
import { ID_RANDOM_BYTES, makeId } from "#core/domain/id.ts";
import type { ReceiverId } from "#core/domain/receiver.ts";
import { SEALING_IV_BYTES, sealSecret } from "#core/domain/sealing.ts";
import { sha256Hex } from "#core/domain/signature.ts";
import { insertApiKey } from "#core/store/queries/keys.ts";
import { fixBrand } from "#core/store/queries/network.ts";
import { insertProgramme } from "#core/store/queries/programmes.ts";
import type { Db, Store } from "#core/store/store.ts";
import { createRandom } from "../src/outside/random.ts";
import { setUrl } from "../test/support/change-rows.ts";

/** Sealing key that all processes of a run share. */
export const BENCH_SEALING_KEY: Uint8Array = createHash("sha256").update("ringback bench").digest();

export interface SeededShop {
	id: number;
	receiver_id: ReceiverId;
	publicId: string;
	apiKey: string;
	secret: string;
}

const SHOPS_PER_TRANSACTION = 500;
const random = createRandom();

export async function seedShops(
	store: Store,
	count: number,
	urlOf: (shop: number) => string,
): Promise<SeededShop[]> {
	const shops: SeededShop[] = [];
	for (let from = 0; from < count; from += SHOPS_PER_TRANSACTION) {
		await store.transact(async (trx) => {
			for (let i = from; i < Math.min(from + SHOPS_PER_TRANSACTION, count); i++) {
				shops.push(await seedShop(trx, i, urlOf(i)));
			}
		});
	}
	return shops;
}

/** Returns the receiver of a shop by its number. After the last shop the numbers begin again with the first. */
export function receiverAt(shops: readonly SeededShop[], number: number): ReceiverId {
	const shop = shops[number % shops.length];
	if (shop === undefined) throw new Error("there is no shop");
	return shop.receiver_id;
}

async function seedShop(trx: Db, number: number, url: string): Promise<SeededShop> {
	const nowMs = Date.now();
	const newId = (kind: "prg" | "sec" | "key"): string => makeId(kind, nowMs, random.bytes(ID_RANDOM_BYTES));
	const { id, receiver_id, public_id } = await insertProgramme(trx, {
		public_id: newId("prg"),
		name: `Shop ${number}`,
		currency: "EUR",
		commission_rate: "8.0000",
		fee_rate: "2.0000",
		approval_days: 30,
		parks_pixels: 1,
		parked_days: 30,
		created_at_ms: nowMs,
	});
	await setUrl(trx, id, url, nowMs);
	// Without a fixed brand, the service reads the brand from the database for every call, and sends no
	// callback.
	await fixBrand(trx, { public_id });
	const secret = `rbs_${random.hex(32)}`;
	const sealed = sealSecret(BENCH_SEALING_KEY, receiver_id, secret, random.bytes(SEALING_IV_BYTES));
	await trx
		.insertInto("signing_secrets")
		.values({
			public_id: newId("sec"),
			receiver_id,
			sealed,
			hint: "seed",
			created_at_ms: nowMs,
			activated_at_ms: nowMs,
		})
		.execute();
	const apiKey = `rbk_${random.hex(32)}`;
	await insertApiKey(trx, {
		public_id: newId("key"),
		programme_id: id,
		name: "Seed",
		hash: sha256Hex(apiKey),
		hint: "seed",
		key_right: "decide",
		created_at_ms: nowMs,
	});
	return { id, receiver_id, publicId: public_id, apiKey, secret };
}

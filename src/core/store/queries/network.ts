// The network's own row. The brand can be chosen only until a shop has a signing secret, because from then on the
// shop may check header names that contain the brand. The secret of the sample programme does not fix the brand,
// because only the network's staff use it. It does so as soon as somebody is added to the sample programme.

import type { Selectable, Updateable } from "kysely";
import { DEFAULT_BRAND } from "../../domain/network.ts";
import type { ReceiverId } from "../../domain/receiver.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db, Store } from "../store.ts";
import type { NetworkTable } from "../tables/network.ts";
import type { Programme } from "./programmes.ts";

const COLUMNS = [
	"name",
	"brand",
	"brand_is_fixed",
	"sample_programme",
	"colour",
	"support_address",
	"time_zone",
	"postal_address",
	"minimum_payouts",
	"sender_name",
	"sender_address",
	"logo_type",
	"logo_hash",
	"logo_width",
	"logo_height",
	"mail_tested_at_ms",
	"set_up_ended_at_ms",
] as const satisfies (keyof NetworkTable)[];

/** Network's settings, without the picture data of the logo. */
export type NetworkSettings = Selectable<Pick<NetworkTable, (typeof COLUMNS)[number]>>;

export interface NetworkRow extends NetworkSettings {
	sample_receiver_id: ReceiverId | null;
	programme_id: number | null;
}

export async function findNetwork(db: Db): Promise<NetworkRow> {
	return db
		.selectFrom("network")
		.select(COLUMNS)
		.select((eb) =>
			eb
				.selectFrom("programmes")
				.innerJoin("receivers", "receivers.programme_id", "programmes.id")
				.select("receivers.id")
				.whereRef("programmes.public_id", "=", "network.sample_programme")
				.as("sample_receiver_id"),
		)
		.select((eb) => eb.selectFrom("programmes").select("id").limit(1).as("programme_id"))
		.executeTakeFirstOrThrow();
}

/** Locks the network's row. A transaction that creates a signing secret also waits for this lock (see `fixBrand`). */
export async function lockNetwork(trx: Db): Promise<Locked<NetworkSettings>> {
	const network = await lockRow(trx, trx.selectFrom("network").select(COLUMNS));
	if (network === undefined) throw new Error("the network's row is made with the schema");
	return network;
}

/**
 * Fixes the brand, in the transaction that stores a signing secret for this programme. If nobody has chosen a brand,
 * it is fixed to the default brand. The sample programme does not fix the brand.
 */
export async function fixBrand(trx: Db, { public_id }: Pick<Programme, "public_id">): Promise<void> {
	await trx
		.updateTable("network")
		.set((eb) => ({
			brand: eb.fn.coalesce("brand", eb.val(DEFAULT_BRAND)),
			brand_is_fixed: eb
				.case()
				.when("sample_programme", "=", public_id)
				.then(eb.ref("brand_is_fixed"))
				.else(1 as const)
				.end(),
		}))
		.execute();
}

/** Stores that this programme is the sample programme, in the transaction that inserts it. */
export async function storeSample(trx: Db, { public_id }: Pick<Programme, "public_id">): Promise<void> {
	await trx.updateTable("network").set({ sample_programme: public_id }).execute();
}

/**
 * Stores the brand that RINGBACK_BRAND gives, so that the brand stays when the setting is removed later. If a
 * different brand is stored and receivers may already rely on it, nothing changes and the stored brand is returned.
 */
export async function keepGivenBrand(
	store: Pick<Store, "db" | "transact">,
	brand: string,
): Promise<string | null> {
	if ((await findNetwork(store.db)).brand === brand) return null;
	return store.transact(async (trx) => {
		const network = await lockNetwork(trx);
		if (network.brand !== null && network.brand_is_fixed === 1) {
			return network.brand === brand ? null : network.brand;
		}
		await changeNetworkRow(trx, network, { brand });
		return null;
	});
}

/** Changes the network's only row. The parameter with the locked row proves that the caller holds the lock. */
export async function changeNetworkRow(
	trx: Db,
	_network: Locked<NetworkSettings>,
	change: Updateable<NetworkTable>,
): Promise<void> {
	await trx.updateTable("network").set(change).execute();
}

export async function storeMailTest(db: Db, nowMs: number): Promise<void> {
	await db.updateTable("network").set({ mail_tested_at_ms: nowMs }).execute();
}

export interface Logo {
	type: string;
	bytes: Uint8Array;
}

/** Returns the logo with this hash, or undefined if the current logo has another hash. */
export async function findLogo(db: Db, hash: string): Promise<Logo | undefined> {
	const found = await db
		.selectFrom("network")
		.select(["logo_type", "logo_data"])
		.where("logo_hash", "=", hash)
		.executeTakeFirst();
	if (found === undefined || found.logo_type === null || found.logo_data === null) return undefined;
	return { type: found.logo_type, bytes: Buffer.from(found.logo_data, "base64") };
}

// The network's own row. Its brand can be chosen only until the first signing secret exists, because from then on a
// shop may check header names that contain the brand.

import type { Selectable, Updateable } from "kysely";
import { DEFAULT_BRAND } from "../../domain/network.ts";
import { type Locked, lockRow } from "../locked.ts";
import type { Db, Store } from "../store.ts";
import type { NetworkTable } from "../tables/network.ts";

const COLUMNS = [
	"name",
	"brand",
	"colour",
	"support_address",
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

/** The network's settings, without the picture data of the logo. */
export type NetworkSettings = Selectable<Pick<NetworkTable, (typeof COLUMNS)[number]>>;

export interface NetworkRow extends NetworkSettings {
	/** Id of any signing secret of the installation, or null if there is none. */
	secret_id: number | null;
	/** Id of any programme of the installation, or null if there is none. */
	programme_id: number | null;
}

export async function findNetwork(db: Db): Promise<NetworkRow> {
	return db
		.selectFrom("network")
		.select(COLUMNS)
		.select((eb) => eb.selectFrom("signing_secrets").select("id").limit(1).as("secret_id"))
		.select((eb) => eb.selectFrom("programmes").select("id").limit(1).as("programme_id"))
		.executeTakeFirstOrThrow();
}

/**
 * Locks the network's row. A transaction that makes the first signing secret also waits for this lock (see `fixBrand`).
 * Whether a secret exists must be read by a later statement, because a statement that waited for the lock still sees
 * the tables as they were before the wait.
 */
export async function lockNetwork(trx: Db): Promise<Locked<NetworkSettings>> {
	const network = await lockRow(trx, trx.selectFrom("network").select(COLUMNS));
	if (network === undefined) throw new Error("the network's row is made with the schema");
	return network;
}

export async function hasSigningSecret(db: Db): Promise<boolean> {
	const found = await db.selectFrom("signing_secrets").select("id").limit(1).executeTakeFirst();
	return found !== undefined;
}

/**
 * Fixes the brand, in the transaction that stores a signing secret. If nobody has chosen a brand, the default becomes
 * the brand for good.
 */
export async function fixBrand(trx: Db): Promise<void> {
	await trx
		.updateTable("network")
		.set((eb) => ({ brand: eb.fn.coalesce("brand", eb.val(DEFAULT_BRAND)) }))
		.execute();
}

/**
 * Stores the brand that RINGBACK_BRAND gives, so that the brand stays when the setting is removed later. If a different
 * brand is stored and receivers may already rely on it, nothing changes and that brand is returned.
 */
export async function keepGivenBrand(
	store: Pick<Store, "db" | "transact">,
	brand: string,
): Promise<string | null> {
	if ((await findNetwork(store.db)).brand === brand) return null;
	return store.transact(async (trx) => {
		const network = await lockNetwork(trx);
		if (network.brand !== null && (await hasSigningSecret(trx))) {
			return network.brand === brand ? null : network.brand;
		}
		await changeNetworkRow(trx, network, { brand });
		return null;
	});
}

/** Changes the network's only row. The locked row serves only as proof that the caller has read it under its lock. */
export async function changeNetworkRow(
	trx: Db,
	_network: Locked<NetworkSettings>,
	change: Updateable<NetworkTable>,
): Promise<void> {
	await trx.updateTable("network").set(change).execute();
}

export async function noteMailTested(db: Db, nowMs: number): Promise<void> {
	await db.updateTable("network").set({ mail_tested_at_ms: nowMs }).execute();
}

export interface Logo {
	type: string;
	bytes: Uint8Array;
}

/** Returns the logo with this hash, or undefined if the current logo has another one. */
export async function findLogo(db: Db, hash: string): Promise<Logo | undefined> {
	const found = await db
		.selectFrom("network")
		.select(["logo_type", "logo_data"])
		.where("logo_hash", "=", hash)
		.executeTakeFirst();
	if (found === undefined || found.logo_type === null || found.logo_data === null) return undefined;
	return { type: found.logo_type, bytes: Buffer.from(found.logo_data, "base64") };
}

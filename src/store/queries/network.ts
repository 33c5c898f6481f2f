// The network's own row, and whether its brand can still be chosen: it cannot once a signing secret exists, because
// from then on somebody may check headers by it.

import type { Selectable, Updateable } from "kysely";
import { DEFAULT_BRAND } from "../../domain/network.ts";
import type { Db, Store } from "../store.ts";
import type { NetworkTable } from "../tables/network.ts";

const COLUMNS = [
	"name",
	"brand",
	"colour",
	"support_address",
	"sender_name",
	"sender_address",
	"logo_type",
	"logo_hash",
	"logo_width",
	"logo_height",
	"mail_tested_at_ms",
	"set_up_ended_at_ms",
] as const satisfies (keyof NetworkTable)[];

/** Without the logo itself. */
export type NetworkRow = Selectable<Pick<NetworkTable, (typeof COLUMNS)[number]>> & {
	/** Of any signing secret; null while there is none. */
	secret_id: number | null;
	/** Of any programme. */
	programme_id: number | null;
};

export async function findNetwork(db: Db): Promise<NetworkRow> {
	return db
		.selectFrom("network")
		.select(COLUMNS)
		.select((eb) => eb.selectFrom("signing_secrets").select("id").limit(1).as("secret_id"))
		.select((eb) => eb.selectFrom("programmes").select("id").limit(1).as("programme_id"))
		.executeTakeFirstOrThrow();
}

/** The row is this transaction's until it ends: whoever makes the first secret waits, and so does who chooses a brand. */
export async function lockNetwork(trx: Db): Promise<NetworkRow> {
	await trx.updateTable("network").set({ one: 1 }).execute();
	return findNetwork(trx);
}

/** With every signing secret, in its transaction: what nobody has chosen until now stays as it is. */
export async function fixBrand(trx: Db): Promise<void> {
	await trx
		.updateTable("network")
		.set((eb) => ({ brand: eb.fn.coalesce("brand", eb.val(DEFAULT_BRAND)) }))
		.execute();
}

/**
 * What RINGBACK_BRAND says is kept, so that nothing changes for anybody on the day the setting is gone. Resolves to the
 * brand that receivers may know already, where it is another one.
 */
export async function keepGivenBrand(
	store: Pick<Store, "db" | "transact">,
	brand: string,
): Promise<string | null> {
	if ((await findNetwork(store.db)).brand === brand) return null;
	return store.transact(async (trx) => {
		const { brand: kept, secret_id } = await lockNetwork(trx);
		if (kept !== null && secret_id !== null) return kept === brand ? null : kept;
		await changeNetworkRow(trx, { brand });
		return null;
	});
}

export async function changeNetworkRow(trx: Db, change: Updateable<NetworkTable>): Promise<void> {
	await trx.updateTable("network").set(change).execute();
}

export interface Logo {
	type: string;
	bytes: Uint8Array;
}

/** Undefined unless it is the present one. */
export async function findLogo(db: Db, hash: string): Promise<Logo | undefined> {
	const found = await db
		.selectFrom("network")
		.select(["logo_type", "logo_data"])
		.where("logo_hash", "=", hash)
		.executeTakeFirst();
	if (found === undefined || found.logo_type === null || found.logo_data === null) return undefined;
	return { type: found.logo_type, bytes: Buffer.from(found.logo_data, "base64") };
}

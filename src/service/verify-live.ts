// `ringback verify` without a file: the database that the settings name, while services work on it.

import type { Config } from "../config.ts";
import { findDamage } from "../store/sqlite-file.ts";
import { type CheckedDatabase, checkStore } from "./check-database.ts";
import { createTeller, type Telling } from "./long-work.ts";
import { openWorkplace } from "./workplace.ts";

export async function verifyLive(config: Config, telling: Telling): Promise<CheckedDatabase> {
	const workplace = await openWorkplace(config, { schema: "inspect" });
	try {
		const { store, sealingKey, clock } = workplace;
		const { database } = config;
		const teller = createTeller(clock, telling);
		if (database.kind === "sqlite") teller.begin("checking the database's pages");
		const damage = database.kind === "sqlite" ? findDamage(database.path) : null;
		return { ...(await checkStore(store, sealingKey, { clock, teller })), damage };
	} finally {
		await workplace.close();
	}
}

// Everything a load run needs, and nothing of it left behind: a database, shops, a programme for
// each, and the real service in a process of its own.

import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { readConfig } from "../../src/config.ts";
import { openWorkplace, type Workplace } from "../../src/service/workplace.ts";
import { openHome, type Running, type Settings } from "../support/command-home.ts";
import { createPostgresAtHand } from "../support/postgres-at-hand.ts";
import { openAccount, type ShopAccount } from "../support/shop-account.ts";
import type { DatabaseKind } from "../support/test-database.ts";
import { openShops, type Shops } from "./shops.ts";

export interface Setup {
	shops: Shops;
	accounts: readonly ShopAccount[];
	service: Running;
	serviceUrl: string;
	metricsUrl: string;
	/** Where the service's inspector listens. */
	inspectorUrl: string;
	/** For whoever looks into the database after the service stopped. */
	withWorkplace<Answer>(work: (workplace: Workplace) => Promise<Answer>): Promise<Answer>;
}

export interface SetupOptions {
	shops: number;
	/** The first so many of them hang. */
	hanging: number;
}

/** Whatever is opened is closed by `cleaning`, also when opening the next thing fails. */
export async function openSetup(
	kind: DatabaseKind,
	cleaning: AsyncDisposableStack,
	{ shops: count, hanging }: SetupOptions,
): Promise<Setup> {
	const databaseUrl = kind === "SQLite" ? undefined : await openPostgresDatabase(cleaning);
	const home = openHome({ after: (clean) => cleaning.defer(clean) });
	const shops = await openShops(count, hanging);
	cleaning.defer(() => shops.close());
	const caFile = join(home.folder, "ca.pem");
	writeFileSync(caFile, shops.caPem);
	const settings: Settings = {
		PORT: "0",
		RINGBACK_METRICS_ADDRESS: "127.0.0.1:0",
		DATABASE_URL: databaseUrl ?? `sqlite:${home.databasePath}`,
		RINGBACK_ALLOWED_PRIVATE_RANGES: "127.0.0.0/8",
		RINGBACK_TRUSTED_CA: caFile,
		RINGBACK_SECRET_KEY: randomBytes(32).toString("hex"),
		LOG_LEVEL: "error",
		NODE_OPTIONS: "--inspect=127.0.0.1:0",
	};
	const withWorkplace: Setup["withWorkplace"] = async (work) => {
		const read = readConfig({ ...settings, LOG_LEVEL: "silent" });
		if (!read.ok) throw new Error(read.problems.join("\n"));
		const workplace = await openWorkplace(read.config);
		try {
			return await work(workplace);
		} finally {
			await workplace.close();
		}
	};
	const accounts = await withWorkplace((workplace) => openAccounts(workplace, shops.urls));
	const service = home.start(["serve"], settings);
	const [, inspectorUrl = ""] = await service.said(/^Debugger listening on (\S+)$/m);
	const [, serviceUrl = ""] = await service.said(/^Ringback listens on (\S+)$/m);
	const [, metricsUrl = ""] = await service.said(/^ {2}metrics {2}(\S+)$/m);
	return { shops, accounts, service, serviceUrl, metricsUrl, inspectorUrl, withWorkplace };
}

async function openAccounts(workplace: Workplace, urls: readonly string[]): Promise<ShopAccount[]> {
	const accounts: ShopAccount[] = [];
	for (const [shop, postbackUrl] of urls.entries()) {
		const owners = [`owner-${shop}@shop.example`];
		accounts.push(await openAccount(workplace, { postbackUrl, owners, name: `Shop ${shop}` }));
	}
	return accounts;
}

async function openPostgresDatabase(cleaning: AsyncDisposableStack): Promise<string> {
	const postgres = createPostgresAtHand();
	cleaning.defer(() => postgres.stop());
	const database = await postgres.createDatabase();
	cleaning.defer(() => database.drop());
	return database.url;
}

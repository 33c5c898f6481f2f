import { type Environment, readConfig } from "../../src/config.ts";
import { openWorkplace, type Workplace } from "../../src/service/workplace.ts";
import { type AccountOptions, openAccount, type ShopAccount } from "./shop-account.ts";

/** Migrates the database and adds the account. No other process may have the database open. */
export function prepareDatabase(
	environment: Environment,
	options: AccountOptions = {},
): Promise<ShopAccount> {
	return withWorkplace(environment, (workplace) =>
		openAccount(workplace, { owners: ["owner@shop.example"], ...options }),
	);
}

/** Opens the database as a command does, and closes it after the work. */
export async function withWorkplace<Value>(
	environment: Environment,
	work: (workplace: Workplace) => Promise<Value>,
): Promise<Value> {
	const read = readConfig({ LOG_LEVEL: "silent", ...environment });
	if (!read.ok) throw new Error(read.problems.join("\n"));
	const workplace = await openWorkplace(read.config);
	try {
		return await work(workplace);
	} finally {
		await workplace.close();
	}
}

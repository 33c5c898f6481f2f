// better-auth's tables are made by our own migrations: on both databases they have what its schema asks for, so
// that an upgrade which needs more fails here and not in production.

import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { getAuthTables } from "better-auth/db";
import { getMigrations } from "better-auth/db/migration";
import { createRandom } from "../../src/outside/random.ts";
import { authOptions } from "../../src/people/auth.ts";
import { MIGRATIONS, type Migration } from "../../src/store/schema/migrations.ts";
import { createClock, START_MS } from "../support/clock.ts";
import { eachDatabase, type SuiteDatabase } from "../support/databases.ts";
import { createLog } from "../support/log.ts";
import { createTestDatabase } from "../support/test-database.ts";

const TABLES = ["auth_accounts", "auth_sessions", "auth_two_factors", "auth_users", "auth_verifications"];

eachDatabase("better-auth's tables", (database) => {
	test("each has every column that better-auth names, and none is demanded that it does not fill", async () => {
		const tables = new Map(
			(await database.store.db.introspection.getTables()).map((table) => [table.name, table]),
		);
		const asked = Object.values(getAuthTables(optionsFor(database)));
		deepEqual(asked.map(({ modelName }) => modelName).toSorted(), TABLES);
		for (const { modelName, fields } of asked) {
			const columns = tables.get(modelName)?.columns ?? [];
			const names = Object.entries(fields).map(([name, { fieldName }]) => fieldName ?? name);
			deepEqual(columns.map(({ name }) => name).toSorted(), ["id", ...names].toSorted(), modelName);
			for (const [name, field] of Object.entries(fields)) {
				const column = columns.find((candidate) => candidate.name === (field.fieldName ?? name));
				equal(column?.isNullable, field.required === false, `${modelName}.${name}`);
				ok(
					isFitting(database.kind, field.type, column?.dataType ?? ""),
					`${modelName}.${name}: ${column?.dataType}`,
				);
			}
		}
	});

	test("better-auth's own migrator finds nothing to add", async () => {
		const { toBeCreated, toBeAdded } = await getMigrations(optionsFor(database));
		deepEqual({ toBeCreated, toBeAdded }, { toBeCreated: [], toBeAdded: [] });
	});

	test("without our migration it would: the comparison can fail", async () => {
		const empty = await createTestDatabase(database.kind);
		const store = empty.open();
		await store.migrate(START_MS, { migrations: MIGRATIONS.map(withoutAuthTables) });
		const { toBeCreated } = await getMigrations(optionsFor({ ...database, store }));
		deepEqual(toBeCreated.map(({ table }) => table).toSorted(), TABLES);
		await empty.remove();
	});
});

function optionsFor({ store }: Pick<SuiteDatabase, "store">) {
	const log = createLog();
	return authOptions({
		store,
		log,
		clock: createClock(),
		random: createRandom(),
		sealingKey: new Uint8Array(32),
		publicUrl: "https://ringback.example",
	});
}

function isFitting(kind: SuiteDatabase["kind"], type: unknown, column: string): boolean {
	const sqlite: Readonly<Record<string, RegExp>> = {
		string: /^text$/i,
		date: /^text$/i,
		boolean: /^integer$/i,
		number: /^(?:integer|bigint)$/i,
	};
	const postgres: Readonly<Record<string, RegExp>> = {
		string: /^text$/,
		date: /^timestamptz$/,
		boolean: /^bool$/,
		number: /^int[48]$/,
	};
	return (kind === "SQLite" ? sqlite : postgres)[String(type)]?.test(column) ?? false;
}

function withoutAuthTables(migration: Migration): Migration {
	const isOurs = (statement: string) => !statement.includes("auth_");
	return {
		...migration,
		statements: (dialect) => migration.statements(dialect).filter(isOurs),
	};
}

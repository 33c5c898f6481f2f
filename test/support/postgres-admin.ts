// Making and dropping databases on a test server.

import pg from "pg";

/** Empty, or with all that is in the template. Resolves to the new database's URL. */
export async function createDatabase(adminUrl: string, name: string, template?: string): Promise<string> {
	const copied = template === undefined ? "" : ` template ${pg.escapeIdentifier(template)}`;
	await runAsAdmin(adminUrl, `create database ${pg.escapeIdentifier(name)}${copied}`);
	const url = new URL(adminUrl);
	url.pathname = `/${name}`;
	return url.href;
}

/** Fails when anybody is still connected: so a test proves that it closed what it opened. */
export async function dropDatabase(adminUrl: string, name: string): Promise<void> {
	await runAsAdmin(adminUrl, `drop database ${pg.escapeIdentifier(name)}`);
}

/** Nobody connects any more, autovacuum included: PostgreSQL copies only what nobody uses. */
export async function closeDatabase(adminUrl: string, name: string): Promise<void> {
	await runAsAdmin(adminUrl, `alter database ${pg.escapeIdentifier(name)} allow_connections false`);
}

async function runAsAdmin(adminUrl: string, statement: string): Promise<void> {
	const client = new pg.Client({ connectionString: adminUrl });
	await client.connect();
	try {
		await client.query(statement);
	} finally {
		await client.end();
	}
}

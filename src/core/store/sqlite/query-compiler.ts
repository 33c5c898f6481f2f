// Compiles Kysely's queries for SQLite, without clauses for row locks. SQLite has no row locks and needs none,
// because `begin immediate` keeps every other writer out until the transaction ends.

import { type SelectModifierNode, SqliteQueryCompiler } from "kysely";

export class LocklessQueryCompiler extends SqliteQueryCompiler {
	protected override visitSelectModifier(node: SelectModifierNode): void {
		const isLock = node.modifier === "ForNoKeyUpdate" || node.modifier === "ForShare";
		if (!isLock) super.visitSelectModifier(node);
	}
}

// Compiles Kysely's queries for SQLite, without row locks. SQLite has no row locks and needs none, because a
// transaction begins with `begin immediate`, which keeps every other writer out until it ends.

import { type SelectModifierNode, SqliteQueryCompiler } from "kysely";

export class LocklessQueryCompiler extends SqliteQueryCompiler {
	protected override visitSelectModifier(node: SelectModifierNode): void {
		const isLock = node.modifier === "ForNoKeyUpdate" || node.modifier === "ForShare";
		if (!isLock) super.visitSelectModifier(node);
	}
}

// `ringback migrate`: brings the database to this program's schema without starting the service.

import { succeed } from "../domain/fault.ts";
import { workplaceCommand } from "./workplace-command.ts";

export const migrateCommand = workplaceCommand({
	name: "migrate",
	summary:
		"Brings the database to this program's schema. `serve` does the same at start; use this for a step of its own.",
	options: {},
	async work({ migration: { version, applied } }) {
		const text =
			applied.length === 0
				? `The schema is current (version ${version}); nothing to do.`
				: `Applied ${applied.join("; ")}. The schema is now at version ${version}.`;
		return succeed({ json: { version, applied }, text });
	},
});

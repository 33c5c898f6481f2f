// `ringback migrate`: brings the database to this program's schema without starting the service.

import { type Command, EXIT, JSON_OPTION } from "./command.ts";
import { withWorkplace } from "./with-workplace.ts";

export const migrateCommand: Command = {
	name: "migrate",
	summary:
		"Brings the database to this program's schema. `serve` does the same at start; use this for a step of its own.",
	options: { json: JSON_OPTION },
	run: (options, screen) =>
		withWorkplace(screen, async ({ migration: { version, applied } }) => {
			if (options.flag("json")) screen.out(JSON.stringify({ version, applied }));
			else if (applied.length === 0) screen.out(`The schema is current (version ${version}); nothing to do.`);
			else screen.out(`Applied ${applied.join("; ")}. The schema is now at version ${version}.`);
			return EXIT.ok;
		}),
};

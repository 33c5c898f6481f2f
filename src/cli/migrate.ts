// `ringback migrate` migrates the database without starting the service, or shows what a migration would do.

import { checkSchema, findSchema, MIGRATIONS } from "#core/store/schema/migrations.ts";
import { type Command, EXIT, JSON_OPTION, quietly, withSettings } from "./command.ts";

export const migrateCommand: Command = {
	name: "migrate",
	summary:
		"Migrates the database to this program's schema. `serve` does the same at start, unless RINGBACK_MIGRATE is check. It can be interrupted and started again.",
	options: {
		check: {
			type: "boolean",
			help: "change nothing, only say what would be done; exits 1 if anything is to be done",
		},
		json: JSON_OPTION,
	},
	run: withSettings(async (options, screen, config) => {
		const isCheck = options.flag("check");
		const { openWorkplace } = await import("../service/workplace.ts");
		const workplace = await openWorkplace(quietly(config), {
			schema: isCheck ? "inspect" : "migrate",
			tellMigration: (progress) => screen.error(progress),
		});
		try {
			const { version, applied } = workplace.migration;
			if (isCheck) checkSchema(await findSchema(workplace.store.db));
			const pending = isCheck ? MIGRATIONS.slice(version).map(({ name }) => name) : [];
			if (options.flag("json")) {
				screen.out(JSON.stringify({ version, applied, ...(isCheck ? { pending } : {}) }));
			} else if (pending.length > 0) {
				const supportedVersion = MIGRATIONS.length;
				screen.out(
					`The schema has version ${version}; this program's is ${supportedVersion}. To do: ${pending.join("; ")}.`,
				);
			} else if (applied.length === 0) {
				screen.out(`The schema is current (version ${version}); nothing to do.`);
			} else {
				screen.out(`Applied ${applied.join("; ")}. The schema is now at version ${version}.`);
			}
			return pending.length > 0 ? EXIT.failed : EXIT.ok;
		} finally {
			await workplace.close();
		}
	}),
};

import { atEnd } from "../../domain/addition.ts";
import type { SiteModule } from "../../site-module.ts";
import { JOB_ROUTES } from "../../web/jobs/routes.ts";
import { IMPORT_PATH } from "../../web/paths.ts";

export const JOBS_SITE: SiteModule = {
	routes: JOB_ROUTES,
	menus: {
		staff: [atEnd({ area: "programmes", href: IMPORT_PATH, inMenu: "Import from other software" })],
	},
};

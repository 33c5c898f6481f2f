import { atEnd } from "#core/domain/addition.ts";
import { IMPORT_PATH } from "#core/web/paths.ts";
import type { SiteModule } from "../../site-module.ts";
import { JOB_ROUTES } from "./web/routes.ts";

export const JOBS_SITE: SiteModule = {
	routes: JOB_ROUTES,
	menus: {
		staff: [atEnd({ area: "programmes", href: IMPORT_PATH, inMenu: "Import from other software" })],
	},
};

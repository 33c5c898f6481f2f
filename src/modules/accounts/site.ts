import type { SiteModule } from "../../site-module.ts";
import { STATEMENT_ROUTES } from "../../web/statements/routes.ts";

export const ACCOUNTS_SITE: SiteModule = {
	routes: STATEMENT_ROUTES,
};

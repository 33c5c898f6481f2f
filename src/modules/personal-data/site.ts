import type { SiteModule } from "../../site-module.ts";
import { PERSONAL_DATA_ROUTES } from "./web/routes.ts";

export const PERSONAL_DATA_SITE: SiteModule = { routes: PERSONAL_DATA_ROUTES };

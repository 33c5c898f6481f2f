import type { SiteModule } from "../../site-module.ts";
import { JOB_ROUTES } from "../../web/jobs/routes.ts";

export const JOBS_SITE: SiteModule = {
	routes: JOB_ROUTES,
};

// The apps that answer nobody but the operator's own programs.

import type { Hono } from "hono";
import { createBareApp, mountHealth, refuseOtherMethods } from "./bare-app.ts";
import type { AppDeps, AppEnv } from "./deps.ts";
import { createHealth, type ProcessDetails } from "./health.ts";

/** For a process that only delivers callbacks: it tells load balancers and supervisors how it is, and takes nothing. */
export function createWorkerApp(deps: AppDeps): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	mountHealth(app, deps);
	return app;
}

/** For the operator, on an address of its own: numbers tell how much is sold, and details what to attack. */
export function createMetricsApp(deps: AppDeps, about: ProcessDetails): Hono<AppEnv> {
	const app = createBareApp(deps, null);
	const health = createHealth(deps);
	app.get("/metrics", () => deps.metrics.answer());
	app.get("/health", () => health.answerDetails(about));
	refuseOtherMethods(app, deps, ["/metrics", "/health"]);
	return app;
}

/** Lets the process end although the timer is set, if the runtime has such a function. */
export function letProcessEnd(timer: unknown): void {
	if (typeof timer !== "object" || timer === null || !("unref" in timer)) return;
	if (typeof timer.unref === "function") timer.unref();
}

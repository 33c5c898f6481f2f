import type { Module } from "../../module.ts";

export const JOBS: Module = { name: "jobs" };

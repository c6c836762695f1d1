/* Slurm's plug-in (SPANK): `srun --latecomer[=observe|auto|off]`, also for sbatch and salloc, whose
 * choice srun takes over inside the job. It preloads the loader that lies beside this file into the
 * tasks of steps; batch scripts and daemons are left alone, and the loader stays out of programs
 * without MPI. A line of plugstack.conf makes Slurm load it:
 *
 *   optional /opt/latecomer/lib/liblatecomer_slurm.so [default=observe|auto|off]
 *
 * The first of these decides: the option of the step, that of its job, the variable LATECOMER, and
 * the site's default. No word that is wrong ends a job: a line names it, and the step runs without
 * the library. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <slurm/slurm.h>
#include <slurm/spank.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

SPANK_PLUGIN(latecomer, 1)

enum mode { unset, automatic, observe, off, modes };
static const char* const values[modes] = {"", "auto", "observe", "off"}; /* of the option */
static const char* const settings[modes] = {"", "on", "observe", "off"}; /* of LATECOMER */

static enum mode chosen = unset; /* by the option */
static enum mode site = unset;

/* unset: it is none of the names. */
static enum mode mode_of(const char* value, const char* const names[modes]) {
  for (int i = 1; i < modes; ++i) {
    if (strcmp(value, names[i]) == 0) return (enum mode)i;
  }
  return unset;
}

/* `remote`: on a compute node, after the command has checked the value. */
static int take_option(int number, const char* value, int remote) {
  (void)number;
  const int is_given = value != NULL && value[0] != '\0' && strcmp(value, "(null)") != 0;
  chosen = is_given ? mode_of(value, values) : automatic;
  if (chosen != unset) return 0;
  chosen = off;
  if (!remote) {
    slurm_error(
        "latecomer: --latecomer: '%s' is not usable; right would be observe, auto or off; the job "
        "runs without it",
        value);
  }
  return 0;
}

static void take_argument(const char* word) {
  static const char name[] = "default=";
  const int is_known = strncmp(word, name, sizeof name - 1) == 0;
  const enum mode mode = is_known ? mode_of(word + sizeof name - 1, values) : unset;
  if (mode != unset) {
    site = mode;
    return;
  }
  slurm_error(
      "latecomer: plugstack.conf: '%s' is not usable; right would be default=observe, "
      "default=auto or default=off; it is ignored",
      word);
}

int slurm_spank_init(spank_t spank, int count, char* words[]) {
  static struct spank_option option = {
      "latecomer",
      "observe|auto|off",
      "MPI collectives by latecomer: auto (the default) where that is faster, observe to report "
      "who is late and change nothing, or off",
      2, /* with or without a value */
      0,
      take_option};
  for (int i = 0; i < count; ++i) take_argument(words[i]);
  return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

/* The file beside this one becomes the first of what is preloaded. */
static int preload(spank_t spank) {
  char before[PATH_MAX];
  char value[2 * PATH_MAX];
  Dl_info self;
  const spank_err_t got = spank_getenv(spank, "LD_PRELOAD", before, sizeof before);
  if (got == ESPANK_ENV_NOEXIST) before[0] = '\0';
  if (got != ESPANK_SUCCESS && got != ESPANK_ENV_NOEXIST) return -1;
  if (strstr(before, "liblatecomer_preload") != NULL) return 0;
  if (dladdr(&chosen, &self) == 0) return -1;
  const char* const slash = strrchr(self.dli_fname, '/');
  if (slash == NULL) return -1;
  const int length =
      snprintf(value, sizeof value, "%.*s/liblatecomer_preload.so%s%s",
               (int)(slash - self.dli_fname), self.dli_fname, before[0] != '\0' ? ":" : "", before);
  if (length < 0 || (size_t)length >= sizeof value) return -1;
  return spank_setenv(spank, "LD_PRELOAD", value, 1) == ESPANK_SUCCESS ? 0 : -1;
}

/* Once for the tasks of a step on each host, with the user's rights. */
int slurm_spank_user_init(spank_t spank, int count, char* words[]) {
  (void)count;
  (void)words;
  uint32_t step = 0;
  if (spank_get_item(spank, S_JOB_STEPID, &step) != ESPANK_SUCCESS) return 0;
  if (step >= SLURM_MAX_NORMAL_STEP_ID) return 0; /* a batch script, or salloc's shell */
  char given[16] = "";
  spank_getenv(spank, "LATECOMER", given, sizeof given); /* longer ones are no values */
  enum mode mode = chosen;
  if (mode == unset) mode = mode_of(given, settings);
  if (mode == unset) mode = mode_of(given, values);
  if (mode == unset && given[0] != '\0') {
    slurm_error("latecomer: LATECOMER: '%s' is not usable; right would be on, observe or off",
                given);
  }
  if (mode == unset) mode = site;
  if (mode == unset) return 0;
  if ((mode != off && preload(spank) != 0) ||
      spank_setenv(spank, "LATECOMER", settings[mode], 1) != ESPANK_SUCCESS) {
    slurm_error("latecomer: this step runs without it: its environment cannot be set");
  }
  return 0;
}

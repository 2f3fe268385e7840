/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "config.h"

#include <string.h>

#include "predictor/request/program/command_program.h"
#include "predictor/request/program/launchers.h"
#include "predictor/request/statements.h"

/* Properties of a launcher. */
enum {
  RUNS_PYTHON = 1,  /* its program is a Python script or, after -m, a module */
  DASHES = 2,       /* "--" precedes the program, if there is one */
  JOINED = 4,       /* the program may be a whole command in one word */
  IMAGE_FIRST = 8,  /* the last operand is a container image */
  MAY_BE_OWN = 16,  /* a common word: "./map" is a user's program */
  OWN_PROGRAM = 32, /* with the sub-command "run" an image has a program of its own */
  TASKS = 64        /* starts the program once for each of the job's tasks */
};

/* Launchers. Each has its options with a separate value (letters; long names between commas), the
 * number of operands before the program, the sub-commands that run a program (NULL: it has none),
 * and the options with a value that precede the sub-command. Source: the manual page of each. */
struct ft_launcher {
  const char *name;
  const char *letters;
  const char *names;
  int operands;
  unsigned is;
  const char *verbs, *before;
};

static const struct ft_launcher launchers[] = {
  { "exec", "a", "", 0, 0, NULL, NULL },
  { "eval", "", "", 0, JOINED, NULL, NULL },
  { "command", "", "", 0, 0, NULL, NULL },
  { "builtin", "", "", 0, 0, NULL, NULL },
  { "nohup", "", "", 0, 0, NULL, NULL },
  { "setsid", "", "", 0, 0, NULL, NULL },
  { "time", "fo", ",format,output,", 0, 0, NULL, NULL },
  { "env", "uCS", ",unset,chdir,", 0, 0, NULL, NULL },
  { "nice", "n", ",adjustment,", 0, 0, NULL, NULL },
  { "ionice", "cn", ",class,classdata,", 0, 0, NULL, NULL },
  { "stdbuf", "ioe", ",input,output,error,", 0, 0, NULL, NULL },
  { "timeout", "ks", ",kill-after,signal,", 1, 0, NULL, NULL },
  { "taskset", "", "", 1, 0, NULL, NULL },
  { "numactl", "NmCipP", ",interleave,membind,cpunodebind,physcpubind,preferred,", 0, 0, NULL,
    NULL },
  { "chrt", "", "", 1, 0, NULL, NULL },
  { "hwloc-bind", "", ",restrict,membind,mempolicy,", 1, DASHES, NULL, NULL },
  { "omplace", "", ",nt,c,b,", 0, 0, NULL, NULL },
  { "dplace", "csxno", "", 0, 0, NULL, NULL },
  { "xvfb-run", "nsefpw", ",server-num,server-args,error-file,auth-file,wait,", 0, 0, NULL, NULL },
  { "xargs", "nPILsdaEe", ",max-args,max-procs,max-lines,max-chars,delimiter,arg-file,", 0, 0, NULL,
    NULL },
  { "parallel", "jNnILSaPC",
    ",jobs,max-procs,max-args,max-replace-args,max-lines,colsep,joblog,results,tmpdir,tempdir,"
    "arg-file,delay,retries,timeout,memfree,memsuspend,load,sshlogin,sshloginfile,slf,sshdelay,"
    "workdir,wd,env,halt,tagstring,rpl,header,block,recstart,recend,nice,basefile,bf,return,"
    "profile,shellquote,compress-program,termseq,",
    0, JOINED, NULL, NULL },
  { "conda", "np", ",name,prefix,cwd,root-prefix,", 0, 0, ",run,", ",r,root-prefix," },
  { "uv", "p",
    ",python,with,with-editable,with-requirements,project,directory,extra,group,only-group,"
    "no-group,env-file,package,index,index-url,extra-index-url,config-file,cache-dir,",
    0, 0, ",run,", ",directory,project,config-file,color,cache-dir,C," },
  { "pixi", "e", ",environment,manifest-path,", 0, 0, ",run,", ",color," },
  { "srun", "ABCDFGJLMNSTWcdeimnopqrtwx",
    ",account,acctg-freq,bb,bbf,bcast-exclude,begin,chdir,cluster-constraint,clusters,comment,"
    "constraint,container,container-env,container-id,container-image,container-mounts,"
    "container-name,container-save,container-workdir,core-spec,cores-per-socket,cpu-bind,cpu_bind,"
    "cpu-freq,cpus-per-gpu,cpus-per-task,deadline,delay-boot,dependency,distribution,epilog,error,"
    "exclude,export,export-file,extra,extra-node-info,gid,gpu-bind,gpu-freq,gpus,gpus-per-node,"
    "gpus-per-socket,gpus-per-task,gres,gres-flags,het-group,hint,input,jobid,job-name,licenses,"
    "mail-type,mail-user,mcs-label,mem,mem-bind,mem_bind,mem-per-cpu,mem-per-gpu,mincpus,mpi,"
    "msg-timeout,network,nodefile,nodelist,nodes,ntasks,ntasks-per-core,ntasks-per-gpu,"
    "ntasks-per-node,ntasks-per-socket,open-mode,output,pack-group,partition,power,prefer,"
    "priority,profile,prolog,qos,relative,reservation,segment,signal,slurmd-debug,"
    "sockets-per-node,switches,task-epilog,task-prolog,tasks-per-node,thread-spec,threads,"
    "threads-per-core,time,time-min,topology,tree-width,treewidth,tres-bind,tres-per-task,uid,wait,"
    "wckey,predict-app,predict-params,predict-model,",
    0, TASKS, NULL, NULL },
  { "mpirun", "ncNHxfpw",
    ",np,n,c,N,H,host,hosts,hostlist,hostfile,machine,machinefile,ppn,perhost,npernode,npersocket,"
    "map-by,bind-to,rank-by,binding,wdir,wd,x,env,envlist,genvlist,iface,bootstrap,launcher,"
    "launcher-exec,rmk,path,prefix,output-filename,outfile-pattern,errfile-pattern,rankfile,rf,"
    "cpu-set,cpu-list,cpus-per-proc,cpus-per-rank,gpus-per-proc,timeout,stdin,am,tune,personality,"
    "umask,configfile,arch,file,",
    0, TASKS, NULL, NULL },
  { "aprun", "nNdScjLFmerpt", ",cc,", 0, TASKS, NULL, NULL },
  { "jsrun", "abcdeEghkKlmMnoprtUX",
    ",nrs,tasks_per_rs,cpu_per_rs,gpu_per_rs,rs_per_host,rs_per_socket,memory_per_rs,np,bind,"
    "latency_priority,launch_distribution,smpiargs,erf_input,stdio_stdout,stdio_stderr,"
    "stdio_stdin,env,chdir,exit_on_error,",
    0, 0, NULL, NULL },
  { "ibrun", "no", ",np,", 0, TASKS, NULL, NULL },
  { "flux", "nNcgtqBoSO",
    ",nodes,ntasks,nslots,cores-per-task,cores-per-slot,gpus-per-task,gpus-per-slot,time-limit,"
    "queue,bank,output,error,input,job-name,env,env-file,rlimit,requires,dependency,begin-time,"
    "signal,tasks-per-node,tasks-per-core,gpus-per-node,cores,cwd,urgency,setopt,setattr,"
    "taskmap,",
    0, 0, ",run,submit,alloc,start,", ",parent," },
  { "singularity", "BHSW",
    ",bind,home,pwd,cwd,workdir,env,env-file,scratch,overlay,app,mount,security,network,"
    "network-args,hostname,dns,add-caps,drop-caps,pem-path,apply-cgroups,fusemount,containlibs,"
    "memory,cpus,",
    1, IMAGE_FIRST | OWN_PROGRAM, ",exec,run,", ",c,config," },
  { "docker", "vewuvphmlac",
    ",volume,volumes-from,env,env-file,workdir,user,name,memory,memory-swap,cpus,cpuset-cpus,gpus,"
    "network,net,entrypoint,mount,publish,hostname,label,shm-size,ulimit,device,runtime,ipc,pid,"
    "platform,pull,restart,userns,security-opt,cap-add,cap-drop,tmpfs,log-driver,add-host,"
    "group-add,pod,annotation,hooks-dir,",
    1, IMAGE_FIRST, ",exec,run,",
    ",context,c,host,H,config,log-level,l,root,runroot,storage-driver,storage-opt,url,"
    "connection," },
  { "enroot", "mec", ",mount,env,conf,rc,", 1, IMAGE_FIRST, ",start,", "" },
  { "ch-run", "bcmug", ",bind,cd,mount,uid,gid,home,join-ct,join-pid,join-tag,storage,", 1,
    IMAGE_FIRST | DASHES, NULL, NULL },
  { "shifter", "iVvew", ",image,volume,module,env,env-file,workdir,", 0, 0, NULL, NULL },
  { "torchrun", "r",
    ",nnodes,nproc_per_node,nproc-per-node,rdzv_backend,rdzv-backend,rdzv_endpoint,rdzv-endpoint,"
    "rdzv_id,rdzv-id,rdzv_conf,rdzv-conf,master_addr,master-addr,master_port,master-port,"
    "node_rank,node-rank,max_restarts,max-restarts,monitor_interval,monitor-interval,role,log_dir,"
    "log-dir,redirects,tee,start_method,start-method,local_addr,local-addr,"
    "local_ranks_filter,local-ranks-filter,",
    0, RUNS_PYTHON, NULL, NULL },
  { "accelerate", "",
    ",config_file,num_processes,num_machines,machine_rank,main_process_ip,main_process_port,"
    "mixed_precision,gpu_ids,dynamo_backend,dynamo_mode,rdzv_backend,rdzv_conf,max_restarts,"
    "monitor_interval,role,tee,log_dir,num_cpu_threads_per_process,deepspeed_config_file,"
    "deepspeed_hostfile,deepspeed_multinode_launcher,zero_stage,offload_optimizer_device,"
    "offload_param_device,gradient_accumulation_steps,gradient_clipping,fsdp_sharding_strategy,"
    "fsdp_auto_wrap_policy,fsdp_transformer_layer_cls_to_wrap,fsdp_state_dict_type,"
    "fsdp_offload_params,fsdp_version,",
    0, RUNS_PYTHON, ",launch,", "" },
  { "deepspeed", "Hie",
    ",hostfile,include,exclude,num_nodes,num_gpus,master_addr,master_port,launcher,launcher_args,"
    "node_rank,autotuning,save_pid,bind_core_list,ssh_port,",
    0, RUNS_PYTHON, NULL, NULL },
  { "horovodrun", "Hnp",
    ",hosts,hostfile,num-proc,network-interface,network-interfaces,min-np,max-np,slots-per-host,"
    "host-discovery-script,start-timeout,timeline-filename,output-filename,ssh-port,"
    "fusion-threshold-mb,cycle-time-ms,cache-capacity,config-file,",
    0, 0, NULL, NULL },
  { "charmrun", "", ",nodelist,", 0, 0, NULL, NULL },
  { "nsys", "otswfyxcednpbh",
    ",output,trace,sample,stats,force-overwrite,delay,duration,capture-range,capture-range-end,"
    "cuda-memory-usage,cuda-graph-trace,cudabacktrace,cpuctxsw,export,kill,mpi-impl,nic-metrics,"
    "gpu-metrics-device,gpu-metrics-devices,gpu-metrics-set,gpu-metrics-frequency,backtrace,"
    "sampling-period,samples-per-backtrace,session,session-new,show-output,stop-on-exit,wait,"
    "env-var,event-sample,python-sampling,python-backtrace,pytorch,osrt-threshold,nvtx-capture,"
    "inherit-environment,run-as,trace-fork-before-exec,",
    0, 0, ",profile,launch,", "" },
  { "ncu", "okcsi",
    ",export,kernel-name,kernel-name-base,kernel-id,launch-count,launch-skip,metrics,section,"
    "section-folder,set,target-processes,replay-mode,devices,clock-control,cache-control,"
    "log-file,nvtx-include,nvtx-exclude,range-filter,import-source,mode,page,config-file,"
    "app-replay-mode,app-replay-match,profile-from-start,source-folders,",
    0, 0, NULL, NULL },
  { "nvprof", "omeptui",
    ",export-profile,output-profile,log-file,metrics,events,timeout,profile-from-start,devices,"
    "kernels,annotate-mpi,cpu-profiling-frequency,cpu-profiling-mode,unified-memory-profiling,"
    "openacc-profiling,openmp-profiling,aggregate-mode,replay-mode,source-level-analysis,"
    "concurrent-kernels,dependency-analysis,normalized-time-unit,print-gpu-trace-format,",
    0, 0, NULL, NULL },
  { "compute-sanitizer", "",
    ",tool,log-file,save,launch-timeout,kernel-name,kernel-regex,kernel-id,target-processes,"
    "target-processes-filter,launch-count,launch-skip,port,prefix,print-limit,error-exitcode,"
    "check-device-heap,track-stream-ordered-races,num-callers-host,num-callers-device,",
    0, 0, NULL, NULL },
  { "rocprof", "iodtmf",
    ",timestamp,basenames,ctx-wait,ctx-limit,heartbeat,obj-tracking,plugin,output-file,"
    "output-format,output-directory,input,pmc,kernel-include-regex,kernel-exclude-regex,"
    "log-level,",
    0, DASHES, NULL, NULL },
  { "omniperf", "npkdb", ",name,path,kernel,dispatch,block,device,subpath,roof-only,", 0, DASHES,
    ",profile,", "" },
  { "vtune", "crkq",
    ",collect,report,result-dir,knob,data-limit,target-duration-type,app-working-dir,search-dir,"
    "source-search-dir,finalization-mode,duration,project-dir,cpu-mask,ring-buffer,"
    "call-stack-mode,mrte-mode,strategy,target-process,target-pid,command,",
    0, DASHES, NULL, NULL },
  { "perf-report", "noN", ",np,procs,procs-per-node,output,mpi,mpiargs,select-ranks,export,", 0,
    MAY_BE_OWN, NULL, NULL },
  { "tau_exec", "T", ",ebs_period,ebs_source,ebs_resolution,", 0, 0, NULL, NULL },
  { "hpcrun", "eocf", ",event,count,output,process-fraction,merge-threads,trace-file,", 0, 0, NULL,
    NULL },
  { "scalasca", "ef", ",examine,instrument,", 0, MAY_BE_OWN, NULL, NULL },
  { "pat_run", "gHSw", "", 0, 0, NULL, NULL },
  { "gprofng", "phoSFdOAC", "", 1, 0, ",collect,", "" },
  { "perf", "eoFCpcIrxmG",
    ",event,output,freq,count,call-graph,interval-print,repeat,cpu,pid,field-separator,mmap-pages,"
    "delay,",
    0, 0, ",stat,record,trace,mem,", "" },
  { "strace", "eopPsSaEIbu", ",output,trace,attach,string-limit,", 0, 0, NULL, NULL },
  { "memusage", "npdbxy", ",progname,png,data,buffer,title,x-size,y-size,", 0, 0, NULL, NULL },
  { "likwid-perfctr", "CgTtoSc", ",group,", 0, 0, NULL, NULL },
  { "likwid-pin", "c", "", 0, 0, NULL, NULL },
  { "likwid-mpirun", "ncgpno", ",pin,mpi,omp,", 0, 0, NULL, NULL },
  { "dmtcp_launch", "phi",
    ",coord-port,coord-host,interval,ckptdir,tmpdir,port-file,coord-logfile,", 0, 0, NULL, NULL },
  { "coverage", "", ",rcfile,source,data-file,omit,include,", 0, 0, ",run,", "" },
  { "mprof", "oTC", ",output,interval,", 0, 0, ",run,", "" },
  { "py-spy", "ordfp", ",output,rate,duration,format,", 0, DASHES, ",record,", "" },
  { "memray", "o", ",output,", 0, RUNS_PYTHON, ",run,", "" },
  { "sudo", "ug", ",user,group,", 0, 0, NULL, NULL },
  { "cProfile", "os", ",outfile,", 0, 0, NULL, NULL },
  { "accelerate.commands.launch", "",
    ",config_file,num_processes,main_process_port,mixed_precision,", 0, RUNS_PYTHON, NULL, NULL }
};

/* Options of MPI launchers with two values. */
static const char *const mpi_pair_options[] = { "mca", "gmca", "genv", "env", NULL };

/* Other names, or commands with the options of a launcher. */
static const struct {
  const char *launcher, *names;
} aliases[] = {
  { "srun", "yhrun" },
  { "mpirun", "mpiexec,mpiexec.hydra,mpiexec.openmpi,mpiexec.mpich,mpirun.openmpi,mpirun.mpich,"
              "mpirun.lsf,mpirun_rsh,orterun,prterun,prun,mpprun,ccc_mprun,lrun" },
  { "singularity", "apptainer" },
  { "docker", "podman,podman-hpc,nerdctl,udocker,sarus" },
  { "nohup", "catchsegv,mpi4py,mpi4py.futures,unbuffer,remora,task_affinity,tacc_affinity,poe,"
             "fakeroot,aps,spindle" },
  { "time", "gtime" },
  { "parallel", "env_parallel" },
  { "conda", "mamba,micromamba" },
  { "torchrun", "torch.distributed.run,torch.distributed.launch" },
  { "cProfile", "kernprof,memory_profiler,pyinstrument,scalene" },
  { "uv", "poetry,pipenv" },
  { "compute-sanitizer", "cuda-memcheck" },
  { "ncu", "nv-nsight-cu-cli" },
  { "rocprof", "rocprofv2,rocprofv3,rocprof-sys-run,rocprof-sys-sample,omnitrace-run,"
               "omnitrace-sample,omnitrace" },
  { "omniperf", "rocprof-compute" },
  { "vtune", "amplxe-cl,advisor,advixe-cl,inspxe-cl" },
  { "perf-report", "map,ddt" },
  { "scalasca", "scan" },
  { "strace", "ltrace" },
};

static bool has_long_option(const char *names, const char *name)
{
  size_t length = strlen(name);

  if (!length)
    return false;
  for (const char *p = names; (p = strstr(p, name)); p++)
    if (p > names && p[-1] == ',' && p[length] == ',')
      return true;
  return false;
}

const struct ft_launcher *ft_launcher_find(const char *name)
{
  size_t i;

  for (i = 0; i < sizeof aliases / sizeof *aliases; i++)
    if (ft_text_lists(ft_text_from(aliases[i].names), name))
      name = aliases[i].launcher;
  i = FT_TABLE_FIND(launchers, name);
  return i < sizeof launchers / sizeof *launchers ? &launchers[i] : NULL;
}

/* Returns the text of an option, without a quote before it, even if its value is unknown. */
static struct ft_text option_text(const struct ft_word *word)
{
  struct ft_text text = word->unknown ? word->raw : ft_text_from(word->text);

  if (word->unknown)
    (void)(ft_text_skip(&text, "\"") || ft_text_skip(&text, "'"));
  return text;
}

bool ft_is_option_word(const struct ft_word *word)
{
  return word->option || ft_text_starts(option_text(word), "-");
}

bool ft_is_numeric_word(const char *text)
{
  double value;

  return ft_text_is_double(ft_text_from(text), &value);
}

/* Whether the unknown WORD is a number or a node list, as a variable of Slurm is, and no program.
 */
static bool is_runtime_number(const struct ft_word *word)
{
  static const char *const begins[] = { "$((",   "$SLURM_", "${SLURM_", "$PBS_",
                                        "$LSB_", "$(nproc", "$OMP_",    "${OMP_" };
  static const char *const contains[] = { "TASKS", "PROC",  "CORES", "THREADS", "CPUS",
                                          "NODES", "RANKS", "NGPU",  "tasks",   "proc" };
  const struct ft_text text = word->raw;
  const size_t quote = ft_text_starts(text, "\"");

  if (!word->unknown || word->base)
    return false;
  for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
    if (ft_text_starts((struct ft_text){ text.at + quote, text.end }, begins[i]))
      return true;
  for (size_t i = 0; i < sizeof contains / sizeof *contains; i++)
    if (memmem(text.at, ft_text_left(&text), contains[i], strlen(contains[i])))
      return true;
  return false;
}

/* Copies the option at WORD, without dashes and value, to OUT. Returns whether the value is part of
 * the word. */
static bool option_name(const struct ft_word *word, char out[48])
{
  struct ft_text text = option_text(word), name;
  bool whole;

  while (ft_text_skip(&text, "-"))
    ;
  whole = ft_text_left(&text) && memchr(text.at, '=', ft_text_left(&text));
  out[0] = '\0';
  if (ft_text_until(&text, '=', &name))
    (void)ft_text_copy(name, out, 48);
  return whole;
}

/* Returns the number of words after the option WORD of LAUNCHER that are its values. */
static size_t option_value_count(const struct ft_launcher *launcher, const struct ft_word *word)
{
  struct ft_text text = option_text(word);
  char name[48];

  if (option_name(word, name))
    return 0;
  if (launcher->names[0] && ft_string_listed(mpi_pair_options, name) &&
      strcmp(launcher->name, "mpirun") == 0)
    return 2;
  if (!ft_text_starts(text, "--") && name[0] && !name[1])
    return strchr(launcher->letters, name[0]) ? 1 : 0;
  return has_long_option(launcher->names, name) ? 1 : 0;
}

/* Returns the index of the sub-command of LAUNCHER, the word AT of C; AT if it has none, C->count
 * if it is another one. */
static size_t find_verb(const struct ft_launcher *launcher, const struct ft_command *c, size_t at)
{
  char name[48];

  if (!launcher->verbs)
    return at;
  for (at++; at < c->count && ft_is_option_word(&c->word[at]); at++)
    if (!option_name(&c->word[at], name) && has_long_option(launcher->before, name))
      at++;
  return at < c->count && has_long_option(launcher->verbs, c->word[at].text) ? at : c->count;
}

const struct ft_launcher *ft_launcher_at(const struct ft_command *c, size_t at)
{
  const struct ft_launcher *found;
  char base[FT_BASE_NAME];

  if (at >= c->count)
    return NULL;
  found = ft_launcher_find(ft_word_base_name(&c->word[at], base));
  if (!found || find_verb(found, c, at) == c->count)
    return NULL;
  return found->is & MAY_BE_OWN && strncmp(c->word[at].text, "./", 2) == 0 ? NULL : found;
}

bool ft_is_program_word(const struct ft_word *word)
{
  char base[FT_BASE_NAME];
  const char *dot = strrchr(ft_word_base_name(word, base), '.');

  if (ft_names_program(base) || ft_interpreter(base) || ft_launcher_find(base))
    return true;
  return base[0] && !word->unknown &&
         (strncmp(word->text, "./", 2) == 0 || strstr(word->text, "/bin/")) &&
         (!dot || ft_text_lists(ft_text_from(".out,.exe,.x"), dot));
}

/* Returns the index of the word "--" of C after AT; C->count without one. */
static size_t find_dashes(const struct ft_command *c, size_t at)
{
  while (at < c->count && strcmp(c->word[at].text, "--") != 0)
    at++;
  return at;
}

/* Whether the word AT of C is the value of an option before it that the table does not have. */
static bool is_value_of_unlisted_option(const struct ft_launcher *launcher,
                                        const struct ft_command *c, size_t at)
{
  char base[FT_BASE_NAME];

  if (at + 1 == c->count || (launcher->is & RUNS_PYTHON && strcmp(c->word[at - 1].text, "-m") == 0))
    return false;
  if (!(launcher->is & RUNS_PYTHON) || !ft_is_option_word(&c->word[at - 1]) ||
      ft_names_program(ft_word_base_name(&c->word[at], base)))
    return false;
  for (size_t i = at + 1; i < c->count; i++)
    if (ft_string_ends(c->word[i].unknown ? "" : c->word[i].text, ".py"))
      return true;
  return false;
}

/* Whether the word AT of C cannot be the program of LAUNCHER: A=B after env, numbers, values of
 * options that the table does not have. */
static bool is_no_program(const struct ft_launcher *launcher, const struct ft_command *c, size_t at)
{
  const struct ft_word *word = &c->word[at];
  struct ft_text rest = word->unknown ? word->raw : ft_text_from(word->text), name;

  return ft_shell_assignment(&rest, &name) ||
         (word->unknown ? at + 1 < c->count && (is_runtime_number(word) ||
                                                (!word->base && ft_is_program_word(word + 1)))
                        : !word->text[0] || ft_is_numeric_word(word->text)) ||
         is_value_of_unlisted_option(launcher, c, at);
}

/* Whether TEXT is the option of GNU parallel for a file of commands or arguments. */
static bool is_listing_option(const char *text)
{
  return strcmp(text, "-a") == 0 || strcmp(text, "--arg-file") == 0;
}

/* Notes what the option AT of C, with COUNT values, says about the program. */
static void note_option(const struct ft_command *c, size_t at, size_t count,
                        struct ft_launched *out)
{
  struct ft_text text = ft_text_from(c->word[at].text);

  if (ft_text_skip(&text, "--container-image=") || ft_text_skip(&text, "--image="))
    out->image = text.at;
  else if (count && strcmp(c->word[at].text, "--container-image") == 0 && at + 1 < c->count)
    out->image = c->word[at + 1].text;
  else if (count && at + 1 < c->count && is_listing_option(c->word[at].text))
    out->list = c->word[at + 1].text;
  out->listed |= strcmp(c->word[at].text, "--multi-prog") == 0;
}

void ft_launcher_program(const struct ft_launcher *launcher, const struct ft_command *c, size_t at,
                         struct ft_launched *out)
{
  size_t verb = find_verb(launcher, c, at), count, dashes = c->count;
  int operands = launcher->operands;
  bool own = launcher->is & OWN_PROGRAM && strcmp(c->word[verb].text, "run") == 0;

  out->joined = launcher->is & JOINED;
  out->tasks |= launcher->is & TASKS;
  out->at = c->count;
  if (launcher->is & DASHES)
    dashes = find_dashes(c, verb + 1);
  for (at = verb + 1; at < c->count; at++) {
    if (ft_is_option_word(&c->word[at]) && (c->word[at].unknown || c->word[at].text[1])) {
      count = option_value_count(launcher, &c->word[at]);
      note_option(c, at, count, out);
      at += count;
      continue;
    }
    if (operands) {
      operands--;
      if (operands || !(launcher->is & IMAGE_FIRST))
        continue;
      out->image = c->word[at].text;
      if (own && (at + 1 == c->count || !ft_is_program_word(&c->word[at + 1]))) {
        out->at = at;
        return;
      }
      /* docker run IMAGE: the image's own program */
      out->at = at;
      continue;
    }
    if (dashes < c->count && at < dashes) {
      at = dashes;
      continue;
    }
    if (is_no_program(launcher, c, at))
      continue;
    out->at = at;
    return;
  }
}

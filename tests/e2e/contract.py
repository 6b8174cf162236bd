# SPDX-License-Identifier: Apache-2.0
"""The contract of docs/schema.md for the views: columns, closed lists of words, keys."""

COLUMNS = {
    "run_info": "key,value",
    "process": "process_id,host,pid,rank,local_rank,command,clock_offset_ns,clock_error_ns",
    "device": "device_id,process_id,host,ordinal,uuid,name,kind,compute_capability,sm_count,clock_hz,"
    "memory_bandwidth_bytes_per_s",
    "stream": "device_id,stream_id,name,priority",
    "activity": "activity_id,kind,process_id,device_id,stream_id,context_id,correlation_id,"
    "api_call_id,graph_id,graph_node_id,start_ns,end_ns,duration_ns,self_ns,bytes,copy_kind,name,"
    "origin,module_id,module,program_id,execution_id,step,instruction,op_name,op_type,source_file,"
    "source_line,category,op_kind,phase,layer,layer_group,mixed,evidence,confidence,"
    "unattributed_reason,library_file,library_line,source_is_library",
    "activity_share": "activity_id,module_id,instruction,share",
    "api_call": "api_call_id,process_id,thread_id,name,correlation_id,start_ns,end_ns",
    "range": "range_id,process_id,thread_id,domain,text,start_ns,end_ns,depth,function,file,line",
    "module": "module_id,process_id,program_id,name,fingerprint,role,role_reason,"
    "framework_function,instruction_count,flops,bytes,peak_memory_bytes,source,file",
    "instruction": "module_id,instruction,computation,opcode,category,op_kind,shape,operands,"
    "op_name,op_name_method,op_type,source_file,source_line,phase,layer,layer_group,mixed,flops,"
    "bytes,fusion_kind,library_file,library_line,source_is_library,stack_id",
    "instruction_share": "module_id,instruction,op_name,phase,layer,source_file,source_line,share,"
    "library_file,library_line,source_is_library,stack_id",
    "source_frame": "module_id,instruction,depth,file,line,function,is_user",
    "source_stack": "stack_id,depth,file,line,function,is_user,is_source",
    "stack_time": "stack_id,self_ns,estimated_ns",
    "source_time": "file,line,function,is_user,self_ns,inclusive_ns",
    "host_sample": "process_id,thread_id,time_ns,last_ns,until_ns,stack_id,function,file,line,state,cpu_ns,gil_wait_ns",
    "host_frame": "stack_id,depth,file,line,function,is_user,is_source",
    "thread_use": "process_id,thread_id,start_ns,end_ns,cpu_ns,run_delay_ns,voluntary_switches,involuntary_switches,"
    "page_faults,read_bytes",
    "machine_use": "process_id,start_ns,end_ns,busy_ns,process_ns,cpus",
    "python_collection": "process_id,start_ns,end_ns,generation",
    "gap_stack": "device_id,part,kind,stack_id,function,file,line,ns",
    "execution": "execution_id,module_id,device_id,start_ns,end_ns,activities,complete",
    "step": "step,process_id,device_id,start_ns,end_ns,device_ns,busy_ns,steady,how,duration_ns,first_execution,typical",
    "op_time": "module_id,module,program_id,instruction,category,op_kind,phase,layer,layer_group,"
    "op_name,source_file,source_line,occurrences,total_ns,self_ns,steady_ns,average_ns,min_ns,"
    "max_ns,self_pct,flops,bytes,wasted_ns,bound_by,theoretical_occupancy_pct,confidence,estimated,"
    "library_file,library_line,source_is_library,stack_id",
    "scope_time": "op_name,layer,layer_group,phase,source_file,source_line,self_ns,estimated_ns,"
    "library_file,library_line,source_is_library",
    "phase_time": "device_id,step,phase,self_ns,estimated_ns",
    "step_part": "device_id,step,part,wall_ns",
    "busy_time": "device_id,start_ns,end_ns,busy_ns,idle_ns,overlap_ns,compute_ns,collective_ns,"
    "exposed_collective_ns,copy_ns,exposed_copy_ns,steady_busy_ns",
    "late_rank": "process_id,device_id,ranks,work,cost_ns,excess_ns,step_ns",
    "launch_queue": "device_id,steady,calls,calls_on_idle,call_p50_ns,latency_p50_ns,latency_p90_ns,"
    "queued_p50_ns,queued_p90_ns,outstanding_p50,outstanding_p90,outstanding_max",
    "gap": "device_id,start_ns,end_ns,cause,previous_activity_id,next_activity_id,host_range_id",
    "collective": "activity_id,op,bytes,group_size,group_id,algorithm_bandwidth,bus_bandwidth,exposed_ns,"
    "wait_ns,arrival_skew_ns",
    "critical_path": "step,device_id,activity_id,start_ns,end_ns,kind",
    "replay": "steps,step_ns,error_pct,largest_error_pct,withheld,all_findings_step_ns,assumptions",
    "compile": "process_id,module_id,name,stage,compilation,source_file,source_line,function_file,"
    "function_line,is_library,is_operation,is_again,cause,is_unfinished,start_ns,end_ns",
    "compile_detail": "process_id,compilation,kind,name,before,after,value,source_file,source_line,"
    "is_difference",
    "buffer": "buffer_id,module_id,allocation,offset_bytes,bytes,peak_bytes,memory_space,owner,"
    "instruction,shape_index,shape,phase,layer,layer_group,source_file,source_line,first_position,"
    "last_position,first_use,last_use",
    "memory_over_time": "module_id,position,instruction,bytes,start_ns,end_ns",
    "finding": "rank,id,handle,title,saves_low_ns_per_step,saves_high_ns_per_step,basis,replay_error_pct,"
    "confidence,where_op,where_layer,where_source,evidence,action,how_to_check",
    "ruled_out": "id,verdict,text,what,figure,evidence",
    "rank": "rank_id,rank,ordinal,host,source,source_process_id,source_device_id,process_id,device_id,"
    "program,clock_offset_ns,clock_drift_ppb,clock_error_ns,clock_set,activities,device_ns,"
    "excess_ns_per_step",
    "rank_step": "rank_id,step,start_ns,step_ns,wait_ns,transfer_ns,gemm_ns,other_ns,idle_ns,steady",
    "job_collective": "program,instruction,op,group_size,bytes,ranks,group_count,paired,transfer_ns,arrival_skew_ns,"
    "most_skew_ns,bus_bandwidth,exposed_ns_per_step,wait_ns_per_step,last_rank_id,last_times",
    "job_critical_path": "step,rank_id,from_program,from_instruction,to_program,to_instruction,own_ns,exchange_ns,"
    "lead_ns,collectives",
    "run_stat": "name,severity,source,value,advice",
}
COLUMNS["launch"] = (
    "launch_id,"  # this is the activity_id
    + COLUMNS["activity"].removeprefix("activity_id,")
    + ",kernel_name,kernel_symbol,grid_x,grid_y,grid_z,block_x,block_y,block_z,cluster_x,cluster_y,"
    "cluster_z,registers_per_thread,shared_memory_static_bytes,shared_memory_dynamic_bytes,"
    "theoretical_occupancy_pct,occupancy_limiter,waves"
)
COLUMNS = {view: text.split(",") for view, text in COLUMNS.items()}
NSIGHT = (
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "NVTX_EVENTS",
    "StringIds",
    "TARGET_INFO_GPU",
)

PHASES = {"forward", "loss", "backward", "recompute", "optimizer", "other", "unknown"}
OP_KINDS = set(
    "gemm convolution attention reduction elementwise_fusion transpose copy memset scatter_gather "
    "sort random fft collective custom_call control other".split()
)
CLOSED = {
    ("activity", "kind"): {"kernel", "memcpy", "memset", "graph", "op", "range"},
    ("activity", "origin"): {"xla", "xla_library", "framework", "autotune", "other"},
    ("activity", "phase"): PHASES,
    ("activity", "op_kind"): OP_KINDS,
    ("activity", "confidence"): {"exact", "inferred", "none"},
    ("activity", "mixed"): {0, 1},
    ("instruction", "phase"): PHASES,
    ("instruction", "op_kind"): OP_KINDS,
    ("instruction", "op_name_method"): {"own", "body", "user", "operand"},
    ("instruction_share", "phase"): PHASES,
    ("op_time", "phase"): PHASES,
    ("op_time", "op_kind"): OP_KINDS,
    ("op_time", "confidence"): {"exact", "inferred", "none"},
    ("op_time", "estimated"): {0, 1},
    ("scope_time", "phase"): PHASES,
    ("phase_time", "phase"): PHASES,
    ("step_part", "part"): PHASES | {"exposed_collective", "exposed_copy", "idle"},
    ("device", "kind"): {"gpu", "tpu", "cpu"},
    ("module", "role"): {"main", "init", "helper", "autotune"},
    ("module", "source"): {"dump", "proto", "nvtx", "xplane", "annotation"},
    ("gap", "cause"): {
        "launch_bound", "host", "synchronisation", "copy", "compile", "input", "unknown",
    },
    ("step", "how"): {"marked", "execution"},
    ("step", "steady"): {0, 1},
    ("step", "typical"): {0, 1},
    ("step", "first_execution"): {0, 1},
    ("execution", "complete"): {0, 1},
    ("run_stat", "severity"): {"info", "notice", "data_loss", "error"},
    ("critical_path", "kind"): {"kernel", "copy", "collective", "host", "gap"},
    ("finding", "basis"): {"replay", "measured", "roofline", "cost_model"},
    ("finding", "confidence"): {"high", "medium", "low"},
}  # fmt: skip
UNIQUE = {
    "process": "process_id",
    "device": "device_id",
    "stream": "device_id,stream_id",
    "activity": "activity_id",
    "launch": "launch_id",
    "api_call": "api_call_id",
    "range": "range_id",
    "module": "module_id",
    "instruction": "module_id,instruction",
    "execution": "execution_id",
    "step": "step,device_id",
    "busy_time": "device_id",
    "launch_queue": "device_id",
    "critical_path": "step,device_id,start_ns",
    "run_info": "key",
    "phase_time": "device_id,step,phase",
    "step_part": "device_id,step,part",
    "activity_share": "activity_id,module_id,instruction",
}
# (view, column) -> (view, column) it is a key of
KEYS = {
    ("activity", "process_id"): ("process", "process_id"),
    ("activity", "device_id"): ("device", "device_id"),
    ("activity", "module_id"): ("module", "module_id"),
    ("activity", "execution_id"): ("execution", "execution_id"),
    ("activity", "api_call_id"): ("api_call", "api_call_id"),
    ("device", "process_id"): ("process", "process_id"),
    ("stream", "device_id"): ("device", "device_id"),
    ("execution", "module_id"): ("module", "module_id"),
    ("execution", "device_id"): ("device", "device_id"),
    ("instruction", "module_id"): ("module", "module_id"),
    ("op_time", "module_id"): ("module", "module_id"),
    ("step", "device_id"): ("device", "device_id"),
    ("step", "process_id"): ("process", "process_id"),
    ("busy_time", "device_id"): ("device", "device_id"),
    ("launch_queue", "device_id"): ("device", "device_id"),
    ("critical_path", "device_id"): ("device", "device_id"),
    ("critical_path", "activity_id"): ("activity", "activity_id"),
    ("gap", "device_id"): ("device", "device_id"),
    ("gap", "previous_activity_id"): ("activity", "activity_id"),
    ("gap", "next_activity_id"): ("activity", "activity_id"),
    ("gap", "host_range_id"): ("range", "range_id"),
    ("collective", "activity_id"): ("activity", "activity_id"),
    ("activity_share", "activity_id"): ("activity", "activity_id"),
    ("range", "process_id"): ("process", "process_id"),
    ("compile", "process_id"): ("process", "process_id"),
    ("module", "process_id"): ("process", "process_id"),
}
